import Synchronization
import Tracing

/// The identifiers of a span and of its trace (W3C Trace Context, section 3.2.2).
struct SpanIdentity: Hashable, Sendable {
    let trace: UInt128
    let span: UInt64

    /// Creates a span of a trace; nil for a new trace. Identifiers are never zero.
    static func random(in trace: UInt128?) -> SpanIdentity {
        SpanIdentity(trace: trace ?? .random(in: 1 ... .max), span: .random(in: 1 ... .max))
    }

    var traceText: String { Self.text(trace, digits: 32) }
    var spanText: String { Self.text(span, digits: 16) }

    /// The value of the header field `traceparent` for a sampled span.
    var traceParent: String { "00-\(traceText)-\(spanText)-01" }

    private static func text(_ number: some BinaryInteger, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: digits - text.count) + text
    }
}

extension InstrumentationContext {
    private enum IdentityKey: InstrumentationContextKey {
        typealias Value = SpanIdentity

        static var nameOverride: String? { "pcast-span" }
    }

    /// The span of this context; nil if there is none.
    var spanIdentity: SpanIdentity? {
        get { self[IdentityKey.self] }
        set { self[IdentityKey.self] = newValue }
    }
}

/// A span that has ended, as it is exported.
struct FinishedSpan: Sendable {
    let identity: SpanIdentity
    let parent: UInt64?
    var name: String
    let kind: SpanKind
    /// The times in nanoseconds since 1970.
    let start: UInt64
    var end: UInt64
    var attributes: SpanAttributes = [:]
    var events: [SpanEvent] = []
    var status: SpanStatus?
}

/// A tracer that gives spans to an exporter when they end.
///
/// It adds its context to outgoing requests, and does not continue the traces of clients, which anybody could name.
struct OTLPTracer: Tracer {
    let exporter: OTLPExporter

    func startSpan<Time: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Time, function: String, file fileID: String, line: UInt
    ) -> OTLPSpan {
        let start = instant().nanosecondsSinceEpoch
        return OTLPSpan(operationName, in: context(), kind, at: start, exporter)
    }

    func forceFlush() { exporter.wake() }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let identity = context.spanIdentity else { return }
        injector.inject(identity.traceParent, forKey: "traceparent", into: &carrier)
    }
}

/// A span of ``OTLPTracer``.
final class OTLPSpan: Span {
    /// The numbers of attributes and events that a span keeps.
    private static let maximumAttributes = 32
    private static let maximumEvents = 16

    private struct State {
        var span: FinishedSpan
        var isRecording = true
    }

    let context: InstrumentationContext
    private let state: Mutex<State>
    private let exporter: OTLPExporter

    init(
        _ name: String, in parent: InstrumentationContext, _ kind: SpanKind, at start: UInt64, _ exporter: OTLPExporter
    ) {
        let identity = SpanIdentity.random(in: parent.spanIdentity?.trace)
        var context = parent
        context.spanIdentity = identity
        self.context = context
        self.exporter = exporter
        state = Mutex(
            State(
                span: FinishedSpan(
                    identity: identity, parent: parent.spanIdentity?.span, name: name, kind: kind, start: start,
                    end: start)))
    }

    var operationName: String {
        get { state.withLock { $0.span.name } }
        set { change { $0.name = newValue } }
    }

    var attributes: SpanAttributes {
        get { state.withLock { $0.span.attributes } }
        set { change { if newValue.count <= Self.maximumAttributes { $0.attributes = newValue } } }
    }

    var isRecording: Bool { state.withLock { $0.isRecording } }

    func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    func addEvent(_ event: SpanEvent) {
        change { if $0.events.count < Self.maximumEvents { $0.events.append(event) } }
    }

    func recordError<Time: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Time
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        attributes["exception.message"] = "\(error)"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    /// Links are not exported, because no span of the platform has one.
    func addLink(_ link: SpanLink) {}

    func end<Time: TracerInstant>(at instant: @autoclosure () -> Time) {
        let time = instant().nanosecondsSinceEpoch
        let finished: FinishedSpan? = state.withLock { state in
            guard state.isRecording else { return nil }
            state.isRecording = false
            // The clock may have been set back.
            state.span.end = max(time, state.span.start)
            return state.span
        }
        if let finished { exporter.append(finished) }
    }

    private func change(_ body: (inout FinishedSpan) -> Void) {
        state.withLock { if $0.isRecording { body(&$0.span) } }
    }
}
