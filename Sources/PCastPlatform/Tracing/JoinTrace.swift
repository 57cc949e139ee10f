import Foundation
import Logging
import PCastCore
import PCastWeb
import Tracing

/// The spans of a client that joins: “join” until it receives or sends media, with the steps “connect” (ICE and DTLS) and,
/// for a publisher, “first media”. The span of the HTTP request is their parent if there is one.
struct JoinTrace: Sendable {
    private let tracer: any Tracer
    private let join: any Span
    private var step: (any Span)?
    private let isPublisher: Bool

    init(_ tracer: any Tracer, stream: StreamID, origin: StreamID, isPublisher: Bool) {
        self.tracer = tracer
        self.isPublisher = isPublisher
        let join = tracer.startSpan("join")
        join.attributes["pcast.role"] = isPublisher ? "publisher" : "viewer"
        join.attributes["pcast.stream"] = origin.description
        if !isPublisher { join.attributes["pcast.view"] = stream.description }
        self.join = join
        step = tracer.startSpan("connect", context: join.context)
    }

    /// Notes that the DTLS handshake is complete.
    mutating func connected() {
        guard let step else { return }
        step.end()
        if isPublisher {
            self.step = tracer.startSpan("first media", context: join.context)
        } else {
            self.step = nil
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
