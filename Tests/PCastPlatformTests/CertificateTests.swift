import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PCastCore
import PCastIO
import PCastPlatform
import PCastWeb
import PCastWebRTC
import Synchronization
import Testing

/// The certificate of the TLS port, which changes with its files.
@Suite struct CertificateTests {
    /// A certificate and its key in files.
    struct Pair {
        let folder: URL
        private(set) var certificate: [UInt8] = []

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try renew()
        }

        var certificatePath: String { folder.appendingPathComponent("certificate.pem").path }
        var keyPath: String { folder.appendingPathComponent("key.pem").path }

        /// Replaces both files as certificate agents do: each atomically.
        mutating func renew() throws {
            let made = try SelfSignedCertificate.generate(at: MonotonicClock.wallTime())
            certificate = made.certificate
            try Self.pem("CERTIFICATE", made.certificate).write(
                toFile: certificatePath, atomically: true, encoding: .utf8)
            try Self.pem("PRIVATE KEY", made.key, as: "EC").write(toFile: keyPath, atomically: true, encoding: .utf8)
        }

        func breakKey() throws {
            try "no key at all".write(toFile: keyPath, atomically: true, encoding: .utf8)
        }

        private static func pem(_ what: String, _ bytes: [UInt8], as kind: String = "") -> String {
            let name = kind.isEmpty ? what : "\(kind) \(what)"
            let text = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            return "-----BEGIN \(name)-----\n\(text)\n-----END \(name)-----\n"
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }
    }

    private func port(_ platform: TestPlatform) throws -> Int { try #require(platform.listening.tlsPort) }

    @Test("new connections use a renewed certificate, and existing ones continue", .timeLimit(.minutes(5)))
    func renewed() async throws {
        var pair = try Pair()
        defer { pair.remove() }
        let log = LogRecord()
        let configure: (inout PlatformConfiguration) -> Void = {
            ($0.tlsCertificate, $0.tlsKey) = (pair.certificatePath, pair.keyPath)
        }
        try await TestPlatform.runConfigured(tlsPort: 0, logger: log.logger, configure: configure) { platform in
            let first = pair.certificate
            let old = try await TLSConnection(port: try port(platform))
            #expect(old.certificate == first)
            #expect(try await old.isAnswered())
            try pair.renew()
            #expect(
                try await eventually {
                    // The platform closes a connection that is idle for a minute.
                    guard try await old.isAnswered() else { return false }
                    let new = try await TLSConnection(port: try port(platform))
                    defer { Task { await new.close() } }
                    return new.certificate == pair.certificate
                })
            #expect(try await old.isAnswered())

            await old.close()

            // A broken pair is reported, and the last valid one is kept.
            try pair.breakKey()
            #expect(
                try await eventually {
                    log.lines.contains {
                        $0.contains("the new certificate is invalid, and the previous one stays in use")
                    }
                })
            let still = try await TLSConnection(port: try port(platform))
            #expect(still.certificate == pair.certificate)
            await still.close()
        }
    }

    @Test("applying the same configuration reads the certificate again at once", .timeLimit(.minutes(5)))
    func asked() async throws {
        var pair = try Pair()
        defer { pair.remove() }
        let configure: (inout PlatformConfiguration) -> Void = {
            ($0.tlsCertificate, $0.tlsKey) = (pair.certificatePath, pair.keyPath)
        }
        try await TestPlatform.runConfigured(tlsPort: 0, configure: configure) { platform in
            try pair.renew()
            _ = try await platform.platform.apply(platform.configuration)
            let new = try await TLSConnection(port: try port(platform))
            #expect(new.certificate == pair.certificate)
            await new.close()
        }
    }

    @Test("a certificate without its key, or with another's, prevents the start")
    func halves() async throws {
        var pair = try Pair()
        defer { pair.remove() }
        let other = try Pair()
        defer { other.remove() }
        for key in [nil, other.keyPath] {
            let error = await #expect(throws: PlatformError.self) {
                var configuration = PlatformConfiguration(port: 0, rtcPort: 0, tlsPort: 0)
                (configuration.tlsCertificate, configuration.tlsKey) = (pair.certificatePath, key)
                try await Platform(configuration).run { _ in }
            }
            #expect("\(try #require(error))".hasPrefix("TLS could not be set up: "))
        }
        try pair.renew()
    }
}

/// A connection to the TLS port that accepts any certificate and records it.
final class TLSConnection: Sendable {
    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let received = Mutex("")

        /// Sends the first request with the handshake, because the platform closes a connection without one after 15 s.
        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: TLSConnection.request)), promise: nil)
            context.fireChannelActive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data))
            received.withLock { $0 += text }
        }
    }

    /// The certificate of the server in DER.
    let certificate: [UInt8]
    private let channel: any Channel
    private let collector: Collector
    /// The number of requests so far.
    private let requests = Mutex(1)

    private static let request = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

    init(port: Int) async throws {
        let collector = Collector()
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .noHostnameVerification
        let context = try NIOSSLContext(configuration: configuration)
        let group = MultiThreadedEventLoopGroup.singleton
        let shown = group.next().makePromise(of: [UInt8].self)
        channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(
                        context: context, serverHostname: nil,
                        customVerificationCallback: { certificates, verified in
                            shown.completeWith(Result { try certificates.first?.toDERBytes() ?? [] })
                            verified.succeed(.certificateVerified)
                        })
                    try channel.pipeline.syncOperations.addHandlers(handler, collector)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        self.collector = collector
        channel.closeFuture.whenComplete { _ in shown.fail(ChannelError.eof) }
        certificate = try await shown.futureResult.get()
    }

    /// Requests the platform's health and waits for the response.
    func isAnswered() async throws -> Bool {
        let count = requests.withLock { count in
            count += 1
            return count
        }
        try await channel.writeAndFlush(ByteBuffer(string: Self.request))
        return try await eventually {
            collector.received.withLock { $0.ranges(of: #"{"status":"ok"}"#).count } == count
        }
    }

    func close() async { try? await channel.close() }
}

/// The self-signed certificate in the data folder.
@Suite struct SelfSignedCertificateTests {
    /// Runs `body` with a platform whose certificate and data are in a folder.
    private func run(_ folder: URL, _ body: (TestPlatform) async throws -> Void) async throws {
        let records = StorageConfiguration(directory: folder.path)
        let configure: (inout PlatformConfiguration) -> Void = { $0.tlsSelfSigned = true }
        try await TestPlatform.runConfigured(tlsPort: 0, records: records, configure: configure, body)
    }

    /// Returns the status of a request by a client that trusts only the certificate of the file, and checks the host.
    private func status(_ host: String, _ platform: TestPlatform, trusting file: URL) async throws -> Int {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file.path))
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(tlsConfiguration: configuration))
        do {
            let port = try #require(platform.listening.tlsPort)
            let request = HTTPClientRequest(url: "https://\(host):\(port)/healthz")
            let response = try await client.execute(request, timeout: .minutes(5))
            _ = try await response.body.collect(upTo: 1 << 16)
            try await client.shutdown()
            return Int(response.status.code)
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    @Test(
        "it is made once for the names and addresses of the host, survives a restart, and is replaced when it is deleted",
        .timeLimit(.minutes(5)))
    func kept() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("self-signed.pem")
        var fingerprint: String?
        try await run(folder) { platform in
            let printed = try #require(platform.listening.tlsFingerprint)
            fingerprint = printed
            let port = try #require(platform.listening.tlsPort)
            let connection = try await TLSConnection(port: port)
            let written = try NIOSSLCertificate.fromPEMFile(file.path).first?.toDERBytes()
            #expect(connection.certificate == written)
            let identity = try TLSIdentity(certificate: file.path, key: file.path)
            #expect(identity.fingerprint == printed)
            await connection.close()
            for host in ["127.0.0.1", "localhost"] {
                #expect(try await status(host, platform, trusting: file) == 200)
            }
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        try await run(folder) { platform in
            #expect(platform.listening.tlsFingerprint == fingerprint)
            let port = try #require(platform.listening.tlsPort)
            let old = try await TLSConnection(port: port)
            await old.close()
            try FileManager.default.removeItem(at: file)
            #expect(
                try await eventually {
                    let new = try await TLSConnection(port: port)
                    await new.close()
                    return new.certificate != old.certificate
                })
            #expect(try await status("localhost", platform, trusting: file) == 200)
        }
    }

    @Test("it needs a data folder, and excludes other certificates") func invalid() async throws {
        for hasFiles in [false, true] {
            let error = await #expect(throws: PlatformError.self) {
                var configuration = PlatformConfiguration(port: 0, rtcPort: 0, tlsPort: 0)
                configuration.tlsSelfSigned = true
                if hasFiles { (configuration.tlsCertificate, configuration.tlsKey) = ("/nowhere/c", "/nowhere/k") }
                try await Platform(configuration).run { _ in }
            }
            #expect("\(try #require(error))".contains("--tls-self-signed"))
        }
    }
}
