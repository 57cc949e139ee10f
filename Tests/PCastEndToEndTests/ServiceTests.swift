import Foundation
import PCastTestSupport
import Synchronization
import Testing

extension EndToEnd {
    /// A platform that a service manager has started. The test has the manager's socket.
    @Suite("Service")
    struct ServiceTests {
        /// The datagrams that a service manager receives. They are read at once, because the socket has room for a few
        /// only, and the platform waits for room.
        private final class Datagrams: Sendable {
            private let received = Awaited<[String]>()
            private let examined = Mutex(0)

            init(of socket: NotificationSocket) {
                let received = received
                Thread.detachNewThread {
                    // It ends two minutes after the last datagram.
                    while let lines = socket.receive() { received.add(lines) }
                    received.finish()
                }
            }

            /// Waits for the next datagram that begins with a line, and returns its lines.
            func next(_ line: String) async throws -> [String] {
                let earlier = examined.withLock { $0 }
                let lines = await received.first(after: earlier) { $0.first == line }
                let found = received.values.dropFirst(earlier).firstIndex { $0.first == line }
                if let found { examined.withLock { $0 = found + 1 } }
                return try #require(lines, "\(line) was not received")
            }
        }

        @Test("the service manager receives start, liveness, reload and end", .timeLimit(.minutes(5)))
        func notifications() async throws {
            try await TestWorkspace.run { workspace in
                let socket = try NotificationSocket("@pcast-\(UUID().uuidString)")
                let datagrams = Datagrams(of: socket)
                let file = workspace.path("pcast.yaml")
                try "serve:\n  listen: 127.0.0.1:0\n  rtcPort: 0\n".write(
                    toFile: file, atomically: true, encoding: .utf8)
                let program = try workspace.pcast(
                    "serve", "--config", file,
                    variables: ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "1500000"])
                let uri = try #require(try await program.event("listening")["uri"].text)
                #expect(try await datagrams.next("READY=1") == ["READY=1", "STATUS=Listening at \(uri)."])
                for _ in 0..<3 { #expect(try await datagrams.next("WATCHDOG=1") == ["WATCHDOG=1"]) }

                program.send(SIGHUP)
                #expect(try await datagrams.next("RELOADING=1").last?.hasPrefix("MONOTONIC_USEC=") == true)
                _ = try await datagrams.next("READY=1")
                _ = try await program.event("reloaded")

                // The service is ready again after a reload that has failed.
                try "serve:\n  listen: [\n".write(toFile: file, atomically: true, encoding: .utf8)
                program.send(SIGHUP)
                _ = try await datagrams.next("RELOADING=1")
                _ = try await datagrams.next("READY=1")
                _ = try await program.event("reloadFailed")

                program.send(SIGTERM)
                let stopping = try await datagrams.next("STOPPING=1")
                // The drain time of 10 s, and the time after which stopping is aborted.
                #expect(stopping.contains("EXTEND_TIMEOUT_USEC=15000000"))
                #expect(try await program.exitStatus() == 0)
            }
        }

        @Test(
            "a platform without privileges on loopback receives media at the addresses of its interfaces",
            .enabled(if: getuid() == 0 && BuiltProgram.installed("setpriv") != nil), .timeLimit(.minutes(5)))
        func unprivileged() async throws {
            try await TestWorkspace.run { workspace in
                let program = try workspace.start(
                    try #require(BuiltProgram.installed("setpriv")),
                    [
                        "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", BuiltProgram.path("pcast"),
                        "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--application",
                        LocalPlatform.application, "--json",
                    ])
                let port = try #require(try await program.event("listening")["rtcPort"].number)
                // The addresses and ports of sockets are hexadecimal (proc_net_udp(5)).
                let sockets = try String(contentsOfFile: "/proc/net/udp", encoding: .utf8)
                let number = String(Int(port), radix: 16, uppercase: true)
                #expect(sockets.contains(" 00000000:\(String(repeating: "0", count: 4 - number.count))\(number) "))
                program.send(SIGTERM)
                #expect(try await program.exitStatus() == 0)
            }
        }

        @Test("a fault that a restart does not fix has the status 2", .timeLimit(.minutes(5)))
        func unusable() async throws {
            try await TestWorkspace.run { workspace in
                let file = workspace.path("pcast.yaml")
                try "serve:\n  listn: 127.0.0.1:0\n".write(toFile: file, atomically: true, encoding: .utf8)
                let misspelled = try workspace.pcast("serve", "--config", file)
                _ = try await misspelled.message(containing: "line 2")
                #expect(try await misspelled.exitStatus() == 2)
                let uncertified = try workspace.pcast(
                    "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--tls-port", "0", "--tls-certificate",
                    workspace.path("none.pem"), "--tls-key", workspace.path("none.key"))
                _ = try await uncertified.message(containing: "TLS could not be set up")
                #expect(try await uncertified.exitStatus() == 2)
            }
        }
    }
}
