import Foundation
import Logging
import Synchronization
import Testing
import Tracing

@testable import PCastPlatform

/// The tracer and its exporter, with a collector in memory.
@Suite struct OTLPExporterTests {
    /// A collector that answers each request with the next of its answers, and later ones with 200.
    private final class Collector: Sendable {
        private let state = Mutex<(bodies: [[UInt8]], answers: [OTLPExporter.Answer])>(([], []))

        init(_ answers: [OTLPExporter.Answer] = []) { state.withLock { $0.answers = answers } }

        func take(_ body: [UInt8]) -> OTLPExporter.Answer {
            state.withLock { state in
                state.bodies.append(body)
                return state.answers.isEmpty ? .status(200) : state.answers.removeFirst()
            }
        }

        var bodies: [[UInt8]] { state.withLock { $0.bodies } }

        /// The spans of a request.
        func spans(_ index: Int) throws -> [OTLPRequest.Span] { try OTLPRequest(bodies[index]).spans }
    }

    private func make(_ collector: Collector) -> (tracer: OTLPTracer, exporter: OTLPExporter) {
        let exporter = OTLPExporter(
            endpoint: "http://127.0.0.1:4318/", resource: ["service.name": "pcast"],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { _, body in collector.take(body) }
        return (OTLPTracer(exporter: exporter), exporter)
    }

    private func time(_ nanoseconds: UInt64) -> DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: nanoseconds)
    }

    @Test("a span has its trace, parent, kind, times, attributes, events and status in the encoding of OTLP")
    func encoding() async throws {
        struct Failure: Error, CustomStringConvertible { let description = "it failed" }
        let collector = Collector()
        let (tracer, exporter) = make(collector)
        let parent = tracer.startSpan("parent", context: .topLevel, ofKind: .server, at: time(1_000))
        let child = tracer.startSpan("child", context: parent.context, ofKind: .client, at: time(2_000))
        child.attributes["text"] = "a/b"
        child.attributes["number"] = 7
        child.attributes["flag"] = true
        child.attributes["share"] = 0.5
        child.recordError(Failure(), attributes: [:], at: time(2_500))
        child.setStatus(SpanStatus(code: .error, message: "no"))
        child.end(at: time(3_000))
        parent.end(at: time(4_000))
        // Changes after the end have no effect.
        child.attributes["late"] = true
        child.end(at: time(9_000))
        let isAccepted = await exporter.flush()
        #expect(isAccepted && collector.bodies.count == 1)
        let request = try OTLPRequest(collector.bodies[0])
        #expect(request.resourceSpans.first?.resource.attributes.map(\.key) == ["service.name"])
        let spans = request.spans
        try #require(spans.map(\.name) == ["child", "parent"])
        #expect(spans[0].traceId == spans[1].traceId && spans[0].parentSpanId == spans[1].spanId)
        #expect(spans[1].parentSpanId == nil)
        #expect(spans[0].traceId.count == 32 && spans[0].spanId.count == 16)
        #expect(spans.map(\.kind) == [3, 2])
        #expect(spans[0].startTimeUnixNano == "2000" && spans[0].endTimeUnixNano == "3000")
        #expect(spans[0].attributes.map(\.key) == ["flag", "number", "share", "text"])
        #expect(spans[0].attributes.map(\.value.text) == ["true", "7", "0.5", "a/b"])
        #expect(spans[0].status?.code == 2 && spans[0].status?.message == "no")
        #expect(spans[0].events.map(\.name) == ["exception"])
        #expect(spans[0].events.first?.attributes.map(\.value.text).first == "it failed")
        #expect(exporter.counts == OTLPExporter.Counts(exported: 2, dropped: 0))
    }

    @Test("spans beyond the queue are dropped and counted, and the others are sent in batches")
    func bounded() async throws {
        let collector = Collector()
        let (tracer, exporter) = make(collector)
        for number in 0..<OTLPExporter.capacity + 10 { tracer.startSpan("\(number)", context: .topLevel).end() }
        #expect(exporter.counts.dropped == 10)
        let isAccepted = await exporter.flush()
        #expect(isAccepted)
        #expect(collector.bodies.count == OTLPExporter.capacity / OTLPExporter.batchSize)
        #expect(try collector.spans(0).first?.name == "0")
        #expect(exporter.counts == OTLPExporter.Counts(exported: OTLPExporter.capacity, dropped: 10))
    }

    @Test("an overloaded or silent collector gets the same spans again, and one that rejects them does not")
    func failures() async throws {
        for answer in [OTLPExporter.Answer.status(503), .status(429), .unreachable("refused")] {
            let collector = Collector([answer])
            let (tracer, exporter) = make(collector)
            tracer.startSpan("one", context: .topLevel).end()
            let isAccepted = await exporter.flush()
            #expect(!isAccepted && exporter.counts == OTLPExporter.Counts())
            let isAcceptedLater = await exporter.flush()
            #expect(isAcceptedLater && exporter.counts.exported == 1)
            #expect(collector.bodies.count == 2 && collector.bodies[0] == collector.bodies[1])
        }
        let collector = Collector([.status(400)])
        let (tracer, exporter) = make(collector)
        tracer.startSpan("one", context: .topLevel).end()
        let isDone = await exporter.flush()
        #expect(isDone && exporter.counts == OTLPExporter.Counts(exported: 0, dropped: 1))
    }

    @Test("a span keeps at most 32 attributes, 16 events and a KiB of each text") func limits() async throws {
        let collector = Collector()
        let (tracer, exporter) = make(collector)
        let span = tracer.startSpan("limits", context: .topLevel)
        span.attributes["long"] = String(repeating: "x", count: 5_000)
        for number in 0..<100 {
            span.attributes["a\(number)"] = 1
            span.addEvent(SpanEvent(name: "e\(number)", at: DefaultTracerClock.now))
        }
        span.end()
        _ = await exporter.flush()
        let sent = try #require(try collector.spans(0).first)
        #expect(sent.attributes.count == 32 && sent.events.count == 16)
        #expect(sent.attributes.first { $0.key == "long" }?.value.text.utf8.count == 1_024)
    }

    @Test("a context adds the header of its span to a request, and a new one adds nothing") func propagation() throws {
        struct Fields: Injector {
            func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
                carrier[key] = value
            }
        }
        let (tracer, _) = make(Collector())
        let span = tracer.startSpan("request", context: .topLevel)
        var fields: [String: String] = [:]
        tracer.inject(.topLevel, into: &fields, using: Fields())
        #expect(fields.isEmpty)
        tracer.inject(span.context, into: &fields, using: Fields())
        #expect(try #require(fields["traceparent"]).wholeMatch(of: /00-[0-9a-f]{32}-[0-9a-f]{16}-01/) != nil)
    }

    @Test("each complete segment of each rendition has a span with its size and duration")
    func segments() async throws {
        #expect(SegmentTrace(NoOpTracer()) == nil)
        let collector = Collector()
        let (tracer, exporter) = make(collector)
        var run = try PackagedRun(layers: 1, trace: SegmentTrace(tracer))
        // Segments of two seconds: two are complete after five, and the third one at the end.
        try run.send(250)
        _ = await exporter.flush()
        let complete = try collector.spans(0)
        run.stream.finish(at: run.now)
        _ = await exporter.flush()
        let last = try collector.spans(1)
        for rendition in ["opus", "video0"] {
            func values(_ spans: [OTLPRequest.Span], _ key: String) -> [String] {
                spans.filter { $0.attributes.contains { $0.key == "pcast.rendition" && $0.value.text == rendition } }
                    .compactMap { span in span.attributes.first { $0.key == key }?.value.text }
            }
            let numbers = values(complete, "pcast.segment").compactMap { Int($0) }
            #expect(numbers.count == 2 && numbers[1] == numbers[0] + 1)
            #expect(values(complete, "pcast.segment.milliseconds") == ["2000", "2000"])
            let sizes = values(complete, "pcast.segment.bytes").compactMap { Int($0) }
            #expect(sizes.count == 2 && sizes.allSatisfy { $0 > 0 })
            #expect(values(last, "pcast.segment.milliseconds") == ["1000"])
        }
        for span in complete + last {
            #expect(span.name == "segment" && span.parentSpanId == nil)
            let (start, end) = try (#require(UInt64(span.startTimeUnixNano)), #require(UInt64(span.endTimeUnixNano)))
            #expect(start <= end)
        }
    }

    @Test("spans are sent when the task ends") func last() async throws {
        let collector = Collector()
        let (tracer, exporter) = make(collector)
        let task = Task { await exporter.run() }
        tracer.startSpan("last", context: .topLevel).end()
        task.cancel()
        await task.value
        #expect(exporter.counts.exported == 1)
    }
}

/// A request of OTLP as a collector decodes it.
struct OTLPRequest: Decodable {
    struct ResourceSpans: Decodable {
        let resource: Resource
        let scopeSpans: [ScopeSpans]
    }

    struct Resource: Decodable {
        let attributes: [Attribute]
    }

    struct ScopeSpans: Decodable {
        let spans: [Span]
    }

    struct Span: Decodable {
        let traceId: String
        let spanId: String
        let parentSpanId: String?
        let name: String
        let kind: Int
        let startTimeUnixNano: String
        let endTimeUnixNano: String
        let attributes: [Attribute]
        let events: [Event]
        let status: Status?
    }

    struct Event: Decodable {
        let name: String
        let attributes: [Attribute]
    }

    struct Status: Decodable {
        let code: Int
        let message: String?
    }

    struct Attribute: Decodable {
        struct Value: Decodable {
            let stringValue: String?
            let intValue: String?
            let doubleValue: Double?
            let boolValue: Bool?

            var text: String {
                stringValue ?? intValue ?? doubleValue.map { "\($0)" } ?? boolValue.map { "\($0)" } ?? ""
            }
        }

        let key: String
        let value: Value
    }

    let resourceSpans: [ResourceSpans]

    var spans: [Span] { resourceSpans.flatMap(\.scopeSpans).flatMap(\.spans) }

    init(_ body: [UInt8]) throws { self = try JSONDecoder().decode(OTLPRequest.self, from: Data(body)) }
}
