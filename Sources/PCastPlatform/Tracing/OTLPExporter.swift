import Foundation
import Logging
import Synchronization
import Tracing

/// Sends finished spans to a collector by OTLP over HTTP, in JSON.
///
/// Spans wait in a queue of bounded length. When it is full, new spans are dropped and counted. A collector that does not
/// respond or is overloaded gets the same batch again; one that rejects a batch does not.
final class OTLPExporter: Sendable {
    /// The response of a collector to a batch.
    enum Answer: Hashable, Sendable {
        case status(Int)
        /// There was no response, for the reason given.
        case unreachable(String)
    }

    /// Sends a batch in JSON to a URI.
    typealias Sender = @Sendable (_ uri: String, _ body: [UInt8]) async -> Answer

    /// The numbers of spans since the start.
    struct Counts: Hashable, Sendable {
        var exported = 0
        /// Those that did not fit into the queue, or that the collector rejected.
        var dropped = 0
    }

    /// The number of spans that wait, and those of one request.
    static let capacity = 2_048
    static let batchSize = 512
    /// The interval of requests, and the longest one of requests to a collector that does not respond.
    private static let interval = Duration.seconds(5)
    private static let maximumInterval = Duration.seconds(60)

    private struct State {
        var queue: [FinishedSpan] = []
        var counts = Counts()
        /// The last failure, which is logged once.
        var failure: String?
    }

    private let uri: String
    private let resource: [String: String]
    private let send: Sender
    private let logger: Logger
    private let state = Mutex(State())
    private let (wakeups, wakeup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Creates an exporter, which sends nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - endpoint: The address of the collector, such as `http://127.0.0.1:4318`.
    ///   - resource: The attributes of this process.
    ///   - logger: The logger.
    ///   - send: Sends a request.
    init(endpoint: String, resource: [String: String], logger: Logger, send: @escaping Sender) {
        uri = (endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint) + "/v1/traces"
        self.resource = resource
        self.logger = logger
        self.send = send
    }

    var counts: Counts { state.withLock { $0.counts } }

    /// Adds a span to the queue.
    func append(_ span: FinishedSpan) {
        let isBatch = state.withLock { state in
            guard state.queue.count < Self.capacity else {
                state.counts.dropped += 1
                return false
            }
            state.queue.append(span)
            return state.queue.count == Self.batchSize
        }
        if isBatch { wake() }
    }

    /// Sends the spans of the queue without waiting for the interval.
    func wake() { wakeup.yield() }

    /// Sends spans until the task is cancelled, and then the remaining ones once.
    func run() async {
        var interval = Self.interval
        while !Task.isCancelled {
            await pause(interval)
            interval = await flush() ? Self.interval : min(interval * 2, Self.maximumInterval)
        }
        // A cancelled task sends no request.
        await Task { _ = await flush() }.value
    }

    /// Waits for the interval, or for enough spans.
    private func pause(_ interval: Duration) async {
        let timer = Task { [wakeup] in
            guard (try? await Task.sleep(for: interval)) != nil else { return }
            wakeup.yield()
        }
        for await _ in wakeups { break }
        timer.cancel()
    }

    /// Sends all spans that are in the queue. Returns false if the collector did not accept them now.
    func flush() async -> Bool {
        while true {
            let batch = state.withLock { Array($0.queue.prefix(Self.batchSize)) }
            guard !batch.isEmpty else { return true }
            let answer = await send(uri, OTLPMessage.encode(batch, resource: resource))
            switch answer {
            case .status(200..<300):
                finish(batch.count, isExported: true)
            case .status(429), .status(502), .status(503), .status(504), .unreachable:
                // The collector may accept the batch later (OTLP, “Failures”).
                report(answer)
                return false
            case .status:
                report(answer)
                finish(batch.count, isExported: false)
            }
        }
    }

    /// Removes a batch that was accepted or rejected.
    private func finish(_ count: Int, isExported: Bool) {
        state.withLock { state in
            state.queue.removeFirst(count)
            guard isExported else { return state.counts.dropped += count }
            state.counts.exported += count
            state.failure = nil
        }
    }

    /// Logs a failure unless it is the same as the last one.
    private func report(_ answer: Answer) {
        let text =
            switch answer {
            case .status(let status): "status \(status)"
            case .unreachable(let reason): reason
            }
        let isNew = state.withLock { state in
            defer { state.failure = text }
            return state.failure != text
        }
        guard isNew else { return }
        logger.warning(
            "the collector of --otlp-endpoint does not accept spans", metadata: ["uri": "\(uri)", "reason": "\(text)"])
    }
}

/// The request of OTLP with spans (ExportTraceServiceRequest) in the JSON encoding of Protocol Buffers, in which
/// identifiers are hexadecimal.
enum OTLPMessage {
    /// The maximum size of a text in bytes.
    private static let maximumTextSize = 1_024

    static func encode(_ spans: [FinishedSpan], resource: [String: String]) -> [UInt8] {
        let request = Request(resourceSpans: [
            ResourceSpans(
                resource: Resource(
                    attributes: resource.sorted { $0.key < $1.key }.map {
                        Attribute(key: $0.key, value: .string($0.value))
                    }),
                scopeSpans: [ScopeSpans(scope: Scope(name: "pcast"), spans: spans.map(span))])
        ])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(request)).map { Array($0) } ?? []
    }

    private static func span(_ span: FinishedSpan) -> Span {
        Span(
            traceId: span.identity.traceText, spanId: span.identity.spanText,
            parentSpanId: span.parent.map { SpanIdentity(trace: span.identity.trace, span: $0).spanText },
            name: text(span.name), kind: kind(span.kind), startTimeUnixNano: "\(span.start)",
            endTimeUnixNano: "\(span.end)", attributes: attributes(span.attributes),
            events: span.events.map {
                Event(
                    timeUnixNano: "\($0.nanosecondsSinceEpoch)", name: text($0.name),
                    attributes: attributes($0.attributes))
            },
            status: span.status.map { Status(code: $0.code == .error ? 2 : 1, message: $0.message.map(text)) })
    }

    private static func kind(_ kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func attributes(_ attributes: SpanAttributes) -> [Attribute] {
        var list: [Attribute] = []
        attributes.forEach { key, value in list.append(Attribute(key: key, value: Self.value(value))) }
        return list.sorted { $0.key < $1.key }
    }

    private static func value(_ attribute: SpanAttribute) -> Value {
        switch attribute {
        case .int32(let number): .integer(Int64(number))
        case .int64(let number): .integer(number)
        case .double(let number): .double(number)
        case .bool(let flag): .bool(flag)
        case .string(let string): .string(text(string))
        case .stringConvertible(let value): .string(text("\(value)"))
        default: .string(text("\(attribute)"))
        }
    }

    private static func text(_ text: String) -> String {
        text.utf8.count <= maximumTextSize ? text : String(decoding: text.utf8.prefix(maximumTextSize), as: UTF8.self)
    }

    private struct Request: Encodable {
        let resourceSpans: [ResourceSpans]
    }

    private struct ResourceSpans: Encodable {
        let resource: Resource
        let scopeSpans: [ScopeSpans]
    }

    private struct Resource: Encodable {
        let attributes: [Attribute]
    }

    private struct ScopeSpans: Encodable {
        let scope: Scope
        let spans: [Span]
    }

    private struct Scope: Encodable {
        let name: String
    }

    private struct Span: Encodable {
        let traceId: String
        let spanId: String
        let parentSpanId: String?
        let name: String
        let kind: Int
        /// Integers of 64 bits are strings in the JSON encoding of Protocol Buffers.
        let startTimeUnixNano: String
        let endTimeUnixNano: String
        let attributes: [Attribute]
        let events: [Event]
        let status: Status?
    }

    private struct Event: Encodable {
        let timeUnixNano: String
        let name: String
        let attributes: [Attribute]
    }

    private struct Status: Encodable {
        let code: Int
        let message: String?
    }

    private struct Attribute: Encodable {
        let key: String
        let value: Value
    }

    private enum Value: Encodable {
        case string(String)
        case integer(Int64)
        case double(Double)
        case bool(Bool)

        private enum Key: String, CodingKey { case stringValue, intValue, doubleValue, boolValue }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            switch self {
            case .string(let text): try container.encode(text, forKey: .stringValue)
            case .integer(let number): try container.encode("\(number)", forKey: .intValue)
            // JSON has no number for these.
            case .double(let number) where !number.isFinite: try container.encode("\(number)", forKey: .stringValue)
            case .double(let number): try container.encode(number, forKey: .doubleValue)
            case .bool(let flag): try container.encode(flag, forKey: .boolValue)
            }
        }
    }
}
