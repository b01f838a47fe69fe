// The peers of the gRPC tests: gRPC's own interop server, and its interop client, which runs one case and exits with 0 if it holds.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
)

var (
	certFile  = flag.String("cert", "", "server: certificate; empty for plain text")
	keyFile   = flag.String("key", "", "server: key")
	maxAge    = flag.Duration("max-age", 0, "server: connections are left with GOAWAY after this time")
	maxCalls  = flag.Uint("max-calls", 0, "server: calls at once on a connection")
	address   = flag.String("address", "", "client: where to connect")
	name      = flag.String("name", "", "client: host of the calls")
	caFile    = flag.String("ca", "", "client: CA of the edge")
	token     = flag.String("token", "", "client: value of the authorization metadata")
	calls     = flag.Int("calls", 0, "client: for the case many_calls")
	testCases = map[string]func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption){
		"empty_unary":                 interop.DoEmptyUnaryCall,
		"large_unary":                 interop.DoLargeUnaryCall,
		"client_streaming":            interop.DoClientStreaming,
		"server_streaming":            interop.DoServerStreaming,
		"ping_pong":                   interop.DoPingPong,
		"empty_stream":                interop.DoEmptyStream,
		"timeout_on_sleeping_server":  interop.DoTimeoutOnSleepingServer,
		"cancel_after_begin":          interop.DoCancelAfterBegin,
		"cancel_after_first_response": interop.DoCancelAfterFirstResponse,
		"custom_metadata":             interop.DoCustomMetadata,
		"status_code_and_message":     interop.DoStatusCodeAndMessage,
		"special_status_message":      interop.DoSpecialStatusMessage,
		"many_calls":                  manyCalls,
	}
)

func main() {
	flag.Parse()
	if flag.Arg(0) == "server" {
		serve()
		return
	}
	client(flag.Arg(0))
}

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	options := []grpc.ServerOption{grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: *maxAge, MaxConnectionAgeGrace: time.Minute})}
	if *maxCalls > 0 {
		options = append(options, grpc.MaxConcurrentStreams(uint32(*maxCalls)))
	}
	if *certFile != "" {
		secure, err := credentials.NewServerTLSFromFile(*certFile, *keyFile)
		check(err)
		options = append(options, grpc.Creds(secure))
	}
	server := grpc.NewServer(options...)
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	healthpb.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		<-stop
		server.GracefulStop()
	}()
	check(server.Serve(listener))
}

func client(test string) {
	pem, err := os.ReadFile(*caFile)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	secure := credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: *name})
	connection, err := grpc.NewClient("passthrough:///"+*address, grpc.WithTransportCredentials(secure), grpc.WithAuthority(*name))
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if *token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", *token)
	}
	run, found := testCases[test]
	if !found {
		log.Fatalf("no case %q", test)
	}
	run(ctx, testgrpc.NewTestServiceClient(connection))
	fmt.Println("OK", test)
}

// manyCalls makes calls one after another on eight lines and fails if one of them is lost.
func manyCalls(ctx context.Context, service testgrpc.TestServiceClient, options ...grpc.CallOption) {
	const lines = 8
	failed := make(chan error, lines)
	for line := 0; line < lines; line++ {
		go func() {
			for call := 0; call < *calls/lines; call++ {
				if _, err := service.UnaryCall(ctx, &testgrpc.SimpleRequest{ResponseSize: 1000, Payload: &testgrpc.Payload{Body: make([]byte, 1000)}}, options...); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for line := 0; line < lines; line++ {
		check(<-failed)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
