import Dispatch
import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastRTMP
import PCastSRT
import ServiceLifecycle
import Synchronization

/// The configuration of the server for SRT publishers and viewers. They send or receive MPEG-TS, and their stream ID
/// contains their key or token.
///
/// `RTMPConfiguration.takesOver` and `RTMPConfiguration.transcoder` apply to them, too.
public struct SRTConfiguration: Hashable, Sendable {
    /// The port; 0 selects a free one, and nil opens none.
    public var port: Int?
    /// The time for which packets are buffered, in which lost ones can be retransmitted. Each connection uses the larger
    /// value of both sides.
    public var latency = Duration.milliseconds(120)
    /// The passphrase of 10 to 79 bytes with which all connections are encrypted; nil for none.
    public var passphrase: String?

    /// The audio that viewers receive.
    public var viewerAudio = ViewerAudio.aac

    /// The codec of the audio that viewers receive.
    public enum ViewerAudio: String, CaseIterable, Sendable {
        /// AAC-LC, to which the audio is transcoded once for all viewers of a stream.
        case aac
        /// Opus as it was published, which not all receivers of MPEG-TS can play.
        case opus
    }

    /// The time without media after which the connection of a publisher is closed.
    package var silenceTimeout = Duration.seconds(30)

    /// The number of bytes that a passphrase may have.
    public static let passphraseSizes = 10...79

    /// Creates the default configuration, which opens no port.
    public init() {}
}

/// The server for SRT publishers and viewers.
final class SRTService: Service {
    let ingest: IngestService
    /// The streams that viewers receive.
    let viewers: SRTViewers
    let limiter: RequestLimiter
    let logger: Logger
    private let listener = Mutex<SRTListener?>(nil)
    private let rejections = Atomic(0)

    init(ingest: IngestService, viewers: SRTViewers, limiter: RequestLimiter, logger: Logger) {
        self.ingest = ingest
        self.viewers = viewers
        self.limiter = limiter
        self.logger = logger
    }

    /// Opens the port of a configuration.
    ///
    /// - Returns: The port; nil if the configuration opens none.
    /// - Throws: ``PlatformError/addressInUse(_:_:)``.
    func open(_ configuration: SRTConfiguration, address: IPAddress) async throws(PlatformError) -> Int? {
        guard let port = configuration.port else { return nil }
        await ingest.access.loadKeys()
        do throws(SRTListenerError) {
            var options = SRTListener.Options(
                address: TransportAddress(ip: address, port: UInt16(clamping: port)), latency: configuration.latency,
                passphrase: configuration.passphrase)
            options.silenceTimeout = TimeSpan(configuration.silenceTimeout)
            let opened = try SRTListener(
                options, decide: { [self] streamID, address in rejection(of: streamID, address) },
                onConnection: { [self] connection in handler(of: connection) })
            listener.withLock { $0 = opened }
            return opened.port
        } catch {
            throw .addressInUse("UDP port \(port) of \(address) cannot be opened: \(error)", .srtPort)
        }
    }

    /// Serves until the platform stops. All streams have ended then.
    func run() async {
        let sending = Task { await viewers.run() }
        // The error means that the service was cancelled, because another one has failed.
        try? await gracefulShutdown()
        sending.cancel()
        let open = listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
        guard let open else { return }
        // Closing waits for threads, which must not block those of Swift concurrency.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                open.stop()
                continuation.resume()
            }
        }
    }

    // MARK: Statistics

    /// The number of open connections.
    var connectionCount: Int { listener.withLock { $0 }?.connectionCount ?? 0 }

    /// The number of clients that were rejected since the start.
    var rejectionCount: Int { rejections.load(ordering: .relaxed) }

    /// The totals of all connections.
    var statistics: SRTStatistics { listener.withLock { $0 }?.statistics ?? SRTStatistics() }

    func noteRejection() { rejections.add(1, ordering: .relaxed) }

    // MARK: Decision

    /// Decides about a client during its handshake, on a thread that must not wait. Returns nil to accept it.
    private func rejection(of text: String, _ address: TransportAddress?) -> SRTRejection? {
        do throws(APIError) {
            guard !limiter.isDraining else { return .unavailable }
            let id = try Self.streamID(text)
            let now = MonotonicClock.now()
            switch id.mode {
            case .publish:
                let principal = try ingest.access.identifyAtOnce(id.credential, from: address?.ip, at: now)
                if let fingerprint = principal.fingerprint {
                    try ingest.checkFree(fingerprint, limit: principal.limits.connections ?? 1, at: now)
                }
            case .request:
                let (principal, client) = try ingest.access.identifyViewer(
                    id.credential, viewing: id.requestedStream, among: ingest.directory.available, from: address?.ip,
                    at: now)
                // The place is reserved when the client is connected. Only then a rejection has no code.
                _ = try limiter.reserve(.viewer, of: principal.application, from: client.address)
            }
            return nil
        } catch {
            noteRejection()
            logger.info(
                "SRT client rejected",
                metadata: ["address": "\(Self.text(address))", "reason": "\(error.detail)"])
            return error.rejection
        }
    }

    /// Returns the stream ID of a client.
    ///
    /// - Throws: ``APIError``.
    static func streamID(_ text: String) throws(APIError) -> SRTStreamID {
        do throws(SRTStreamID.ParsingError) {
            return try SRTStreamID(text)
        } catch {
            throw APIError(streamID: error)
        }
    }

    /// Returns the functions that the listener calls for a client that was accepted.
    private func handler(of connection: SRTConnection) -> SRTListener.Handler {
        do throws(APIError) {
            let id = try Self.streamID(connection.streamID)
            switch id.mode {
            case .publish: return SRTPublisher(connection, sending: id, of: self).handler
            case .request: return SRTViewer(connection, requesting: id, of: self).handler
            }
        } catch {
            // It was the same text during the handshake.
            connection.close()
            return SRTListener.Handler(receive: nil, closed: {})
        }
    }

    static func text(_ address: TransportAddress?) -> String { address.map { "\($0.ip)" } ?? "unknown" }
}

extension APIError {
    /// The reason with which libsrt rejects a client.
    fileprivate var rejection: SRTRejection {
        switch detail {
        case SRTStreamID.ParsingError.unsupportedMode.detail: return .badMode
        case SRTStreamID.ParsingError.unsupportedType.detail: return .unsupportedMedia
        default: break
        }
        return switch kind {
        case .unauthorized: .unauthorized
        case .badRequest: .badRequest
        case .conflict: .conflict
        case .noStreamPlaying, .gone: .notFound
        case .capacity, .rateLimited: .overload
        case .unsupported: .unsupportedMedia
        default: .forbidden
        }
    }

    fileprivate init(streamID error: SRTStreamID.ParsingError) {
        self.init(
            .badRequest,
            "The stream ID is not valid: use the stream key, #!::m=publish,r=KEY, or #!::m=request,r=STREAM,s=TOKEN.",
            detail: error.detail)
    }
}

extension SRTStreamID.ParsingError {
    /// The reason for the log.
    fileprivate var detail: String {
        switch self {
        case .malformed: "malformed stream ID"
        case .unsupportedMode: "unsupported mode in the stream ID"
        case .unsupportedType: "unsupported type in the stream ID"
        }
    }
}

/// The connection of an SRT client, which publishes one stream.
private final class SRTPublisher: Sendable {
    private struct State: Sendable {
        var demuxer = TransportStreamDemuxer()
        var isAccepted = false
        /// The media that arrived before the publisher was accepted.
        var held: [UInt8] = []
        var lastReceived: Instant
    }

    /// The maximum size of media that is held until the publisher is accepted, in bytes.
    private static let maximumHeldSize = 8 << 20
    /// The time without data after which the end of a connection is a failure, because libsrt does not report whether
    /// the client has closed it. The library itself waits for five seconds.
    private static let longestPause = TimeSpan.seconds(4)

    private let connection: SRTConnection
    private let service: SRTService
    private let publisher: IngestPublisher
    private let link: SRTIngestConnection
    private let state: Mutex<State>
    /// Whether the limit of connections counts this one.
    private let isAdmitted: Bool

    init(_ connection: SRTConnection, sending id: SRTStreamID, of service: SRTService) {
        let now = MonotonicClock.now()
        self.connection = connection
        self.service = service
        state = Mutex(State(lastReceived: now))
        link = SRTIngestConnection(connection, service)
        publisher = IngestPublisher(link, of: service.ingest, at: now)
        let ip = connection.address?.ip
        isAdmitted = service.limiter.admitConnection(from: ip, at: now)
        guard isAdmitted else {
            link.reject(.tooManySRTConnections)
            return
        }
        service.limiter.connectionStoppedWaiting(from: ip)
        let access = service.ingest.access
        // The key may have changed since the handshake.
        publisher.begin(requesting: id.capabilities) { () async throws(APIError) in
            try await access.identify(id.credential, from: ip, at: now)
        }
    }

    /// The functions that the listener calls.
    var handler: SRTListener.Handler {
        SRTListener.Handler(
            receive: { [self] bytes, now in receive(bytes, at: now) }, closed: { [self] in closed() })
    }

    private func receive(_ bytes: ByteView, at now: Instant) {
        let isAccepted = link.isAccepted
        let (events, splices) = state.withLock { state in
            state.lastReceived = now
            guard isAccepted else {
                // Beyond the limit, the media so far is dropped, and the stream begins at a later key frame.
                if state.held.count + bytes.count > Self.maximumHeldSize { state.held = [] }
                state.held += bytes
                return ([RTMPServerEvent](), [TransportStreamDemuxer.Splice]())
            }
            var events: [RTMPServerEvent] = []
            if !state.held.isEmpty {
                let held = state.held
                state.held = []
                state.demuxer.receive(held.span) { events.append($0) }
            }
            state.demuxer.receive(bytes.span) { events.append($0) }
            return (events, state.demuxer.takeSplices())
        }
        deliver(events, at: now)
        if !splices.isEmpty { publisher.receive(splices) }
    }

    private func deliver(_ events: [RTMPServerEvent], at now: Instant) {
        guard !events.isEmpty else { return }
        for case .warning(let warning) in events {
            service.logger.info(
                "SRT publisher",
                metadata: ["address": "\(SRTService.text(connection.address))", "warning": "\(warning)"])
        }
        publisher.receive(events, at: now)
    }

    private func closed() {
        let now = MonotonicClock.now()
        let (events, isLost) = state.withLock { state in
            var events: [RTMPServerEvent] = []
            if link.isAccepted { state.demuxer.finish { events.append($0) } }
            return (events, now - state.lastReceived > Self.longestPause)
        }
        deliver(events, at: now)
        publisher.end(isLost ? .failed : .ended)
        if isAdmitted { service.limiter.connectionClosed(from: connection.address?.ip) }
    }
}

/// The connection of an SRT publisher. SRT has no messages for warnings and reasons, so that they are only logged.
private final class SRTIngestConnection: IngestConnection {
    private let connection: SRTConnection
    private let service: SRTService
    private let accepted = Atomic(false)

    init(_ connection: SRTConnection, _ service: SRTService) {
        self.connection = connection
        self.service = service
    }

    var ingestProtocol: IngestProtocol { .srt }
    var address: TransportAddress? { connection.address }
    /// Whether the publisher was accepted.
    var isAccepted: Bool { accepted.load(ordering: .acquiring) }

    func acceptPublishing() { accepted.store(true, ordering: .releasing) }

    func warn(_ message: String) {
        service.logger.notice(
            "SRT publisher", metadata: ["address": "\(SRTService.text(address))", "warning": "\(message)"])
    }

    func reject(_ error: APIError) {
        service.noteRejection()
        connection.close()
    }

    func end(because description: String) { connection.close() }

    func end(_ end: StreamEnd) { connection.close() }
}
