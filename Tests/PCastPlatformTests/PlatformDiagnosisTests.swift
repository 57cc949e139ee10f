import Foundation
import NIOCore
import NIOPosix
import PCastCore
import PCastIO
import Testing

@testable import PCastPlatform

/// The checks of a host before a platform starts.
@Suite("The diagnosis of a host") struct PlatformDiagnosisTests {
    /// Returns a configuration that listens on free ports of loopback.
    private static func configuration(
        _ change: (inout PlatformConfiguration) -> Void = { _ in }
    ) -> PlatformConfiguration {
        var configuration = PlatformConfiguration(host: "127.0.0.1", port: 0, rtcPort: 0)
        change(&configuration)
        return configuration
    }

    private static func findings(
        _ subject: PlatformFinding.Subject, _ configuration: PlatformConfiguration
    ) async -> [PlatformFinding] {
        var diagnosis = PlatformDiagnosis(configuration)
        diagnosis.responseTime = TestPlatform.ample.duration
        return await diagnosis.run().filter { $0.subject == subject }
    }

    @Test("a port that another program uses is a failure, and a free one is not")
    func ports() async throws {
        let listener = try await Self.listen()
        let port = try #require(listener.localAddress?.port)
        let used = Self.configuration { $0.rtmp.port = port }
        let failures = await Self.findings(.port, used)
        #expect(failures.map(\.severity) == [.failure])
        #expect(failures.first?.description.contains("in use") == true)
        try await listener.close()
        #expect(await Self.findings(.port, used).map(\.severity) == [.ok])
    }

    /// Listens on a port below the range from which the kernel gives ports to sockets that ask for any, so that no other
    /// socket gets it afterwards.
    private static func listen() async throws -> any Channel {
        while true {
            let listener = try? await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .bind(host: "127.0.0.1", port: Int.random(in: 20_000..<32_000)).get()
            if let listener { return listener }
            try Task.checkCancellation()
        }
    }

    @Test("the ports of a platform that is running are not checked")
    func running() async throws {
        try await TestPlatform.run { platform in
            let uri = try #require(URL(string: platform.uri))
            let port = try #require(uri.port)
            let findings = await Self.findings(.port, Self.configuration { $0.port = port })
            #expect(findings.map(\.severity) == [.ok])
            #expect(findings.first?.description.contains("is running") == true)
        }
    }

    @Test("an address that this host does not have needs a router that forwards, and a loopback address reaches nobody")
    func addresses() async throws {
        let away = try #require(IPAddress("192.0.2.7"))
        for (address, text) in [(away, "forward"), (.loopbackV4, "cannot reach")] {
            let findings = await Self.findings(.address, Self.configuration { $0.advertise = [address] })
            #expect(findings.map(\.severity) == [.warning])
            #expect(findings.first?.remedy?.contains(text) == true)
        }
        #expect(await Self.findings(.address, Self.configuration()).map(\.severity) == [.ok])
    }

    @Test("STUN servers that do not answer are a failure")
    func silentServer() async throws {
        let server = TransportAddress(ip: .loopbackV4, port: 9)
        let configuration = Self.configuration {
            $0.host = "0.0.0.0"
            $0.stunServers = [server]
        }
        #expect(await Self.findings(.address, configuration).map(\.severity) == [.failure])
    }

    @Test("datagrams reach the addresses of this host")
    func datagrams() async throws {
        let findings = await Self.findings(.udp, Self.configuration())
        #expect(findings.map(\.severity) == [.ok])
    }

    @Test("a certificate that expires soon is a warning, and one that has expired or is missing is a failure")
    func certificate() async throws {
        let pair = try CertificateTests.Pair()
        defer { pair.remove() }
        let configuration = Self.configuration {
            $0.tlsPort = 0
            ($0.tlsCertificate, $0.tlsKey) = (pair.certificatePath, pair.keyPath)
        }
        let diagnosis = PlatformDiagnosis(configuration)
        let now = MonotonicClock.wallTime()
        #expect(diagnosis.certificate(at: now).map(\.severity) == [.ok])
        let days = 86_400 * 1_000 as Int64
        let soon = WallTime(millisecondsSinceEpoch: now.millisecondsSinceEpoch + 355 * days)
        #expect(diagnosis.certificate(at: soon).map(\.severity) == [.warning])
        let late = WallTime(millisecondsSinceEpoch: now.millisecondsSinceEpoch + 366 * days)
        #expect(diagnosis.certificate(at: late).map(\.severity) == [.failure])
        try pair.breakKey()
        #expect(diagnosis.certificate(at: now).map(\.severity) == [.failure])
        let selfSigned = PlatformDiagnosis(Self.configuration { $0.tlsPort = 0 })
        #expect(selfSigned.certificate(at: now).map(\.severity) == [.warning])
    }

    @Test("a folder that does not exist yet is checked by the folder that contains it, and a file is no folder")
    func disk() throws {
        let folder = FileManager.default.temporaryDirectory
        let inside = folder.appendingPathComponent("pcast-\(UUID().uuidString)/data").path
        #expect(PlatformDiagnosis.disk("--data", inside).severity != .failure)
        #expect(!FileManager.default.fileExists(atPath: inside))
        let file = folder.appendingPathComponent("pcast-\(UUID().uuidString)").path
        try Data().write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        #expect(PlatformDiagnosis.disk("--data", file + "/data").severity == .failure)
    }

    @Test("a clock that is not synchronized is a warning")
    func clock() {
        #expect(PlatformDiagnosis.clock(.synchronized).severity == .ok)
        #expect(PlatformDiagnosis.clock(.unsynchronized).severity == .warning)
        #expect(PlatformDiagnosis.clock(.unknown).severity == .warning)
    }
}
