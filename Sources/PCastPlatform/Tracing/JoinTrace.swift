import Foundation
import Logging
import PCastCore
import PCastWeb
import Tracing

/// The spans of a client that joins: “join” until it receives or sends media, with the steps “ICE” and “DTLS”, then “first
/// media” for a publisher and “first frame” for a viewer of video. A publisher over RTMP or SRT has “first media” only. The
/// span of the HTTP request is the parent of “join” if there is one.
struct JoinTrace: Sendable {
    /// The way by which media arrive or leave.
    enum Transport {
        case webRTC, ingest(IngestProtocol)
    }

    private let tracer: any Tracer
    private let join: any Span
    private var step: (any Span)?
    private var hasPath = false
    private let isPublisher: Bool
    /// The time at which a viewer was connected, until the first frame is sent to it.
    private var connectedAt: DefaultTracerClock.Instant?

    init(
        _ tracer: any Tracer, stream: StreamID, origin: StreamID, isPublisher: Bool, transport: Transport = .webRTC
    ) {
        self.tracer = tracer
        self.isPublisher = isPublisher
        let join = tracer.startSpan("join")
        join.attributes["pcast.role"] = isPublisher ? "publisher" : "viewer"
        join.attributes["pcast.stream"] = origin.description
        if !isPublisher { join.attributes["pcast.view"] = stream.description }
        self.join = join
        switch transport {
        case .webRTC: step = tracer.startSpan("ICE", context: join.context)
        case .ingest(let ingestProtocol):
            join.attributes["network.protocol.name"] = ingestProtocol.rawValue
            step = tracer.startSpan("first media", context: join.context)
        }
    }

    /// Notes that a connectivity check has found a path.
    mutating func reachable() {
        guard let step, !hasPath else { return }
        hasPath = true
        step.end()
        self.step = tracer.startSpan("DTLS", context: join.context)
    }

    /// Notes that there are keys.
    mutating func connected() {
        guard let step else { return }
        step.end()
        if isPublisher {
            self.step = tracer.startSpan("first media", context: join.context)
        } else {
            self.step = nil
            connectedAt = DefaultTracerClock().now
            join.end()
        }
    }

    /// Notes the first packet of a publisher.
    mutating func mediaStarted() {
        guard let step else { return }
        step.end()
        self.step = nil
        join.end()
    }

    /// Notes the first key frame for a viewer. The span begins when the viewer was connected. Viewers without video have none.
    mutating func videoStarted() {
        guard let connectedAt else { return }
        self.connectedAt = nil
        tracer.startSpan("first frame", context: join.context, at: connectedAt).end()
    }

    /// Notes the end of the client. If it has not joined yet, the spans have failed.
    func ended() {
        guard let step else { return }
        for span in [step, join] {
            span.setStatus(SpanStatus(code: .error, message: "the client left before"))
            span.end()
        }
    }
}

extension OTLPExporter {
    /// Creates an exporter of this platform, whose requests have five seconds.
    convenience init(endpoint: String, logger: Logger) {
        let resource = [
            "service.name": "pcast", "service.instance.id": UUID().uuidString.lowercased(),
            "host.name": ProcessInfo.processInfo.hostName,
        ]
        self.init(endpoint: endpoint, resource: resource, logger: logger) { uri, body in
            do {
                let headers = [(name: "Content-Type", value: "application/json"), (name: "User-Agent", value: "pcast")]
                let result = try await HTTPRequests.send("POST", uri, headers: headers, body: body, within: .seconds(5))
                return .status(result.status)
            } catch {
                return .unreachable("\(error)")
            }
        }
    }
}
