# Installs the underpass command for this user:  irm @ORIGIN@/install.ps1 | iex
# Needs no administrator. Checks the SHA-256 of the download and, with openssl 3, its Ed25519 signature.
# Run it again to update; it does nothing if the version is installed.
#   $env:UNDERPASS_VERSION      this version instead of the newest
#   $env:UNDERPASS_INSTALL_DIR  this folder instead of %LOCALAPPDATA%\Programs\underpass

& {
  Set-StrictMode -Version 2.0
  $ErrorActionPreference = 'Stop'
  # The progress bar of Windows PowerShell makes a download ten times slower.
  $ProgressPreference = 'SilentlyContinue'

  # Quoted, so that PowerShell runs nothing in the address.
  $origin = @'
@ORIGIN@
'@
  # The public key of releases: SPKI, base64. Empty if the server has none.
  $releaseKey = @'
@RELEASE_KEY@
'@
  if ($origin -notmatch '^https?://') { throw 'This script has to come from an Underpass server.' }
  if (-not [Environment]::Is64BitOperatingSystem) { throw 'There is a release for 64-bit Windows only.' }
  # Windows PowerShell 5.1 does not offer TLS 1.2 by itself on older systems.
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

  $version = $env:UNDERPASS_VERSION
  if (-not $version) {
    $releases = @(Invoke-RestMethod -UseBasicParsing -Uri "$origin/api/releases" | ForEach-Object { $_ })
    if ($releases.Count -eq 0) { throw "$origin offers no release." }
    $version = [string]$releases[0].version
  }
  if ($version -notmatch '^[0-9A-Za-z.-]+$') { throw "'$version' is not a version." }

  $name = "underpass-$version-win-x64.exe"
  $folder = $env:UNDERPASS_INSTALL_DIR
  if (-not $folder) { $folder = Join-Path $env:LOCALAPPDATA 'Programs\underpass' }
  $program = Join-Path $folder 'underpass.exe'

  # Output on the error stream of a program must not end this script.
  function Invoke-OpenSsl([string[]] $words) {
    $ErrorActionPreference = 'Continue'
    $said = (& openssl @words 2>&1) -join ' '
    return @{ Code = $LASTEXITCODE; Said = $said }
  }

  # Throws if the key did not sign the sums. Returns why this machine cannot check the signature, or an empty text.
  function Test-Signature([byte[]] $sums) {
    if ($releaseKey -eq '') { return 'this server publishes no release key' }
    $needed = 'openssl 3 is needed to check the signature'
    if (-not (Get-Command openssl -CommandType Application -ErrorAction SilentlyContinue)) { return $needed }
    $work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $work | Out-Null
    try {
      $keyFile = Join-Path $work 'key'
      $sumsFile = Join-Path $work 'sums'
      $signatureFile = Join-Path $work 'signature'
      [IO.File]::WriteAllText($keyFile, "-----BEGIN PUBLIC KEY-----`n$releaseKey`n-----END PUBLIC KEY-----`n")
      if ((Invoke-OpenSsl @('pkeyutl', '-help')).Said -notmatch 'rawin') { return $needed }
      if ((Invoke-OpenSsl @('pkey', '-pubin', '-in', $keyFile, '-noout')).Code -ne 0) { return $needed }
      $text = [Text.Encoding]::UTF8.GetString((Invoke-WebRequest -UseBasicParsing -Uri "$origin/releases/$version/SHA256SUMS.sig").RawContentStream.ToArray())
      [IO.File]::WriteAllBytes($signatureFile, [Convert]::FromBase64String($text.Trim()))
      [IO.File]::WriteAllBytes($sumsFile, $sums)
      $verified = Invoke-OpenSsl @('pkeyutl', '-verify', '-pubin', '-inkey', $keyFile, '-rawin', '-in', $sumsFile, '-sigfile', $signatureFile)
      if ($verified.Code -ne 0) { throw "The signature of version $version does not match the key of $origin; nothing was installed." }
      return ''
    } finally {
      Remove-Item -LiteralPath $work -Recurse -Force -ErrorAction SilentlyContinue
    }
  }

  $sumsBytes = (Invoke-WebRequest -UseBasicParsing -Uri "$origin/releases/$version/SHA256SUMS").RawContentStream.ToArray()
  $unsigned = Test-Signature $sumsBytes
  $sums = [Text.Encoding]::UTF8.GetString($sumsBytes)
  $line = [regex]::Match($sums, '(?m)^([0-9a-f]{64})  ' + [regex]::Escape($name) + '\r?$')
  if (-not $line.Success) { throw "Version $version has no program for Windows." }
  $wanted = $line.Groups[1].Value

  if ((Test-Path -LiteralPath $program) -and ((Get-FileHash -Algorithm SHA256 -LiteralPath $program).Hash -eq $wanted)) {
    Write-Host "underpass $version is already in $folder"
  } else {
    New-Item -ItemType Directory -Force -Path $folder | Out-Null
    # Write into the same folder first, so that the move replaces the program in one step.
    $draft = Join-Path $folder ".underpass.$PID.exe"
    try {
      Write-Host "fetching $name from $origin"
      Invoke-WebRequest -UseBasicParsing -Uri "$origin/releases/$version/$name" -OutFile $draft
      $actual = (Get-FileHash -Algorithm SHA256 -LiteralPath $draft).Hash.ToLowerInvariant()
      if ($actual -ne $wanted) { throw "$name has SHA-256 $actual, expected was $wanted; nothing was installed." }
      if (Test-Path -LiteralPath $program) {
        # Windows cannot overwrite a running program, but can rename it.
        Remove-Item -LiteralPath "$program.old" -Force -ErrorAction SilentlyContinue
        Move-Item -LiteralPath $program -Destination "$program.old" -Force
      }
      Move-Item -LiteralPath $draft -Destination $program -Force
    } finally {
      Remove-Item -LiteralPath $draft -Force -ErrorAction SilentlyContinue
    }
    Write-Host "underpass $version is in $folder"
    if ($unsigned) { Write-Host "only the SHA-256 was checked: $unsigned" }
  }

  $userPath = [string][Environment]::GetEnvironmentVariable('Path', 'User')
  if (($userPath -split ';') -notcontains $folder) {
    $newPath = (@($userPath -split ';' | Where-Object { $_ }) + $folder) -join ';'
    [Environment]::SetEnvironmentVariable('Path', $newPath, 'User')
    Write-Host "$folder was added to the PATH of new windows"
  }
  Write-Host "next: & '$program' login --server $origin"
}
