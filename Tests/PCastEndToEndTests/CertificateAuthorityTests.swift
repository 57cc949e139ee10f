import Foundation
import Testing

extension EndToEnd {
    /// The certificate of a certificate authority, which certbot requests through the platform.
    @Suite("Certificate authority")
    struct CertificateAuthorityTests {
        @Test(
            "certbot receives a certificate through the platform, which serves it after the deploy hook's SIGHUP",
            .enabled(if: ThisMachine.pebble != nil), .timeLimit(.minutes(10)))
        func certbot() async throws {
            try await TestWorkspace.run { workspace in
                let (name, folder) = ("media.example.org", workspace.path("acme"))
                let webroot = workspace.path("webroot")
                for path in [folder, webroot] {
                    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                }
                let live = "\(folder)/config-dir/live/\(name)"
                let program = try workspace.pcast(
                    "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--tls-port", "0", "--tls-certificate",
                    "\(live)/fullchain.pem", "--tls-key", "\(live)/privkey.pem", "--acme-webroot", webroot,
                    "--application", LocalPlatform.application)
                // The certificate does not exist before certbot has requested it.
                _ = try await program.message(containing: "the certificate does not exist yet")
                let listening = try await program.event("listening")
                let uri = try #require(listening["uri"].text)
                let tlsPort = Int(try #require(listening["tlsPort"].number))
                let served = try workspace.start(
                    "\(BuiltProgram.peers)/request_certificate.py",
                    [
                        "--pebble", try #require(ThisMachine.pebble), "--folder", folder, "--webroot", webroot,
                        "--name", name, "--hook", "kill -HUP \(try #require(program.processID))", "--http-port",
                        String(try #require(uri.split(separator: ":").last)), "--tls-port", "\(tlsPort)",
                    ])
                #expect(try await served.exitStatus(within: .longestRun + .seconds(20)) == 0, "\(served.report)")
                #expect(served.output.lines.values == ["served"])
                _ = try await program.event("reloaded")
            }
        }
    }
}
