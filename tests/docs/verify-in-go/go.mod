module verify

go 1.18

require github.com/golang-jwt/jwt/v5 v5.2.3
