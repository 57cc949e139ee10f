import Glibc
import PCastCore
import Synchronization
import Testing

@testable import PCastIO

/// The addresses to which an isolated program may connect.
@Suite("Limits of connections", .timeLimit(.minutes(5))) struct ConnectionLimitsTests {
    /// Returns whether a program connects to a port of this machine.
    private func connects(to port: UInt16, allowed: [UInt16]) async throws -> Bool {
        let keep = Lines()
        let (ends, ended) = AsyncStream<Void>.makeStream()
        let process = try ConnectionLimits.run(ports: allowed) { () throws(IOError) in
            try ChildProcess(
                "/bin/bash", ["-c", "(exec 3<>/dev/tcp/127.0.0.1/\(port)) && echo connected; echo done"],
                environment: ["PATH": "/usr/bin:/bin"], input: "",
                line: { line in keep.lines.withLock { $0.append(line) } },
                ended: { _ in ended.finish() })
        }
        for await _ in ends {}
        withExtendedLifetime(process) {}
        let heard = keep.lines.withLock { $0 }
        #expect(heard.contains("done"))
        return heard.contains("connected")
    }

    private final class Lines: Sendable { let lines = Mutex<[String]>([]) }

    /// Whether programs can be started in their own network on this machine.
    private static let canIsolate = (try? ConnectionLimits.runIsolated { () throws(IOError) in true }) ?? false

    @Test(
        "a program in its own network reaches only what is forwarded from it, by TCP and UDP",
        .enabled(if: canIsolate, "left out: isolated programs: user namespaces are not permitted"))
    func isolated() async throws {
        let outside = try TCPListener(binding: TransportAddress(ip: .loopbackV4, port: 0))
        let hidden = try TCPListener(binding: TransportAddress(ip: .loopbackV4, port: 0))
        let echo = try Descriptor.socket(.v4, 2)
        _ = SocketAddress.with(TransportAddress(ip: .loopbackV4, port: 0)) { bind(echo.number, $0, $1) }
        let echoAddress = try #require(SocketAddress.ask(echo.number, getsockname))
        let keep = Lines()
        let (ends, ended) = AsyncStream<Void>.makeStream()
        let hiddenPort = hidden.address.port
        let (process, endpoint, datagrams) = try ConnectionLimits.runIsolated {
            () throws(IOError) -> (ChildProcess, OutboundProxy.ListeningSocket, ProxiedDatagrams.ListeningSocket) in
            let endpoint = try OutboundProxy.ListeningSocket()
            let datagrams = try ProxiedDatagrams.ListeningSocket(port: echoAddress.port)
            let script = """
                read go
                (exec 3<>/dev/tcp/127.0.0.1/\(endpoint.address.port) && echo hello >&3 && read -t 120 word <&3 && echo "tcp $word")
                (exec 3<>/dev/tcp/127.0.0.1/\(hiddenPort)) && echo hidden
                (exec 3<>/dev/udp/127.0.0.1/\(echoAddress.port) && echo ping >&3 && word=$(timeout 120 head -n 1 <&3) && echo "udp $word")
                echo done
                """
            let process = try ChildProcess(
                "/bin/bash", ["-c", script], environment: ["PATH": "/usr/bin:/bin"], input: "go\n",
                line: { line in keep.lines.withLock { $0.append(line) } }, ended: { _ in ended.finish() })
            return (process, endpoint, datagrams)
        }
        let relay = try OutboundProxy(.tunnel(outside.address), at: endpoint) { _ in }
        let leading = try ProxiedDatagrams(at: datagrams, to: echoAddress)
        let answering = try WorkerThread(name: "answering") {
            guard RelayPipe.wait(reading: outside.number, milliseconds: 120_000),
                case .connection(let client) = outside.accept(), RelayPipe.read(client) != nil
            else { return }
            _ = RelayPipe.write(Array("world\n".utf8), to: client)
            guard RelayPipe.wait(reading: echo.number, milliseconds: 120_000) else { return }
            var bytes = [UInt8](repeating: 0, count: 100)
            var storage = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            withUnsafeMutableBytes(of: &storage) { storage in
                let from = storage.baseAddress!.assumingMemoryBound(to: sockaddr.self)
                let count = recvfrom(echo.number, &bytes, bytes.count, 0, from, &size)
                if count > 0 { _ = sendto(echo.number, Array("pong\n".utf8), 5, 0, from, size) }
            }
        }
        for await _ in ends {}
        withExtendedLifetime((process, relay, leading)) {}
        answering.join()
        let heard = keep.lines.withLock { $0 }.filter { !$0.contains("bash:") }
        #expect(heard == ["tcp world", "udp pong", "done"])
        #expect(RelayPipe.connect(to: hidden.address) != nil)
    }

    @Test(
        "a program connects only to permitted ports, and this process is not limited",
        .enabled(
            if: ConnectionLimits.hasPortRules, "left out: permitted ports: the kernel has no Landlock rules for TCP"))
    func ports() async throws {
        let listeners = try (0..<2).map { _ in
            try TCPListener(binding: TransportAddress(ip: .loopbackV4, port: 0))
        }
        let ports = listeners.map(\.address.port)
        #expect(try await connects(to: ports[0], allowed: [ports[0]]))
        #expect(try await !connects(to: ports[1], allowed: [ports[0]]))
        #expect(try await !connects(to: ports[1], allowed: []))
        #expect(RelayPipe.connect(to: listeners[1].address) != nil)
    }
}
