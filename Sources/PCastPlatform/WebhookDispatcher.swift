import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastWeb
import Synchronization
import Tracing

/// Delivers the notifications of the outbox to callbacks. Those of one stream and callback are sent in order, others in
/// parallel. Failed deliveries are retried according to a schedule.
actor WebhookDispatcher {
    private let records: Records
    private let client: CallbackClient
    private let schedule: RetrySchedule
    private let statistics: PlatformStatistics
    private let tracer: any Tracer
    private let logger: Logger
    private var underway: Set<DueDelivery.OutboxKey> = []
    private var underwayTo: [CallbackRecord.Key: Int] = [:]
    /// The number of finished deliveries whose result could not be written to the database yet.
    private var unwritten = 0
    private let (wakeups, wakeup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private(set) var counts = Counts()

    /// The numbers of attempts since the start.
    struct Counts: Sendable {
        var delivered = 0
        var failedAttempts = 0
        var failed = 0
    }

    /// The maximum number of simultaneous requests, in total and per callback, so that a slow callback does not block
    /// others.
    private static let limit = 64
    private static let limitEach = 8

    init(
        _ records: Records, client: CallbackClient, schedule: RetrySchedule, statistics: PlatformStatistics,
        tracer: any Tracer, logger: Logger
    ) {
        self.records = records
        self.client = client
        self.schedule = schedule
        self.statistics = statistics
        self.tracer = tracer
        self.logger = logger
    }

    /// Wakes the dispatcher after notifications were added.
    nonisolated func wake() { wakeup.yield() }

    /// Delivers notifications until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            let alarm = DebouncedTimer(wakeup)
            alarm.set(to: .zero)
            for await _ in wakeups {
                let next = await send(in: &group)
                alarm.set(to: next)
            }
            alarm.cancel()
            group.cancelAll()
        }
    }

    /// Waits until all due notifications were sent, or until the timeout is reached.
    func flush(within limit: TimeSpan) async {
        let end = MonotonicClock.now() + limit
        while MonotonicClock.now() < end {
            wake()
            let isLeft = (try? await records.due(at: MonotonicClock.wallTime(), each: 1, limit: 1).isEmpty) == false
            guard isLeft || underway.count > unwritten else { return }
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
        }
    }

    /// Starts all due deliveries. Returns the time until the next one is due, at most a minute because the clock may be
    /// set.
    private func send(in group: inout DiscardingTaskGroup) async -> TimeSpan {
        let now = MonotonicClock.wallTime()
        do {
            // Active deliveries are still due, so they are part of the result and are skipped.
            let due = try await records.due(at: now, each: Self.limitEach, limit: Self.limit + underway.count)
            for delivery in due where !underway.contains(delivery.outboxKey) && hasSpace(for: delivery) {
                begin(delivery)
                group.addTask { await self.attempt(delivery) }
            }
            guard let next = try await records.nextDue(after: now) else { return .seconds(60) }
            return min(max(next - MonotonicClock.wallTime(), .milliseconds(1)), .seconds(60))
        } catch {
            return .seconds(1)
        }
    }

    private func hasSpace(for delivery: DueDelivery) -> Bool {
        underway.count < Self.limit && underwayTo[delivery.callback.key, default: 0] < Self.limitEach
    }

    private func begin(_ delivery: DueDelivery) {
        underway.insert(delivery.outboxKey)
        underwayTo[delivery.callback.key, default: 0] += 1
    }

    private func end(_ delivery: DueDelivery) {
        underway.remove(delivery.outboxKey)
        let count = underwayTo[delivery.callback.key, default: 1] - 1
        underwayTo[delivery.callback.key] = count == 0 ? nil : count
        wake()
    }

    private func attempt(_ delivery: DueDelivery) async {
        let callback = delivery.callback
        var headers = callback.secret.headers(
            id: delivery.id, at: MonotonicClock.wallTime(), body: delivery.body)
        headers += [("Content-Type", "application/json"), ("User-Agent", "pcast")]
        let span = tracer.startSpan("webhook", context: .topLevel, ofKind: .client)
        span.attributes["pcast.notification"] = "\(delivery.id)"
        span.attributes["pcast.stream"] = "\(delivery.stream)"
        span.attributes["pcast.callback"] = "\(callback.name)"
        span.attributes["pcast.attempt"] = delivery.attempts + 1
        tracer.inject(span.context, into: &headers, using: HeaderInjector())
        let begin = MonotonicClock.now()
        let answer = await client.send(
            callback.method.rawValue, callback.uri, headers: headers, body: delivery.body)
        defer { span.end() }
        guard !Task.isCancelled else { return end(delivery) }
        statistics.notified(after: MonotonicClock.now() - begin)
        let (outcome, text) = evaluate(answer, delivery)
        if case .status(let status, _) = answer { span.attributes["http.response.status_code"] = status }
        if case .delivered = outcome {} else { span.setStatus(SpanStatus(code: .error, message: text)) }
        count(outcome, text, delivery)
        // Until the result is written, neither this notification is sent again nor the next one of the stream.
        var isUnwritten = false
        while (try? await records.note(outcome, of: delivery.outboxKey, answer: text)) == nil {
            if !isUnwritten { unwritten += 1 }
            isUnwritten = true
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { break }
        }
        if isUnwritten { unwritten -= 1 }
        end(delivery)
    }

    private func evaluate(_ answer: CallbackClient.CallbackResult, _ delivery: DueDelivery) -> (Records.Outcome, String)
    {
        let retry = { (asked: TimeSpan?) in
            self.schedule.outcome(
                afterAttempts: delivery.attempts, at: MonotonicClock.wallTime(), random: Double.random(in: 0..<1),
                asked: asked)
        }
        switch answer {
        case .status(200...299, _): return (.delivered, "delivered")
        // According to Standard Webhooks, status 410 means that the receiver accepts no more notifications.
        case .status(410, _): return (.failed, "410")
        case .status(let status, let wait): return (retry(wait), "\(status)")
        case .forbidden(let why): return (.failed, why)
        case .none(let why): return (retry(nil), why)
        }
    }

    private func count(_ outcome: Records.Outcome, _ answer: String, _ delivery: DueDelivery) {
        let metadata: Logger.Metadata = [
            "notification": "\(delivery.id)", "stream": "\(delivery.stream)", "callback": "\(delivery.callback.name)",
            "response": "\(answer)", "attempt": "\(delivery.attempts + 1)",
        ]
        switch outcome {
        case .delivered:
            counts.delivered += 1
            logger.debug("notification delivered", metadata: metadata)
        case .retry:
            counts.failedAttempts += 1
            logger.info("notification not delivered, will be retried", metadata: metadata)
        case .failed:
            counts.failedAttempts += 1
            counts.failed += 1
            logger.warning("notification failed and is not retried", metadata: metadata)
        }
    }
}

/// Adds the header fields of a span's context to a request.
private struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout [(name: String, value: String)]) {
        headers.append((key, value))
    }
}

/// A timer that yields to a stream after a delay. Setting it again replaces the previous delay.
final class DebouncedTimer: Sendable {
    private let expiry: AsyncStream<Void>.Continuation
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ expiry: AsyncStream<Void>.Continuation) { self.expiry = expiry }

    func set(to wait: TimeSpan) {
        let next = Task { [expiry] in
            guard (try? await Task.sleep(for: wait.duration)) != nil else { return }
            expiry.yield()
        }
        task.withLock { task in
            task?.cancel()
            task = next
        }
    }

    func cancel() { task.withLock { $0?.cancel() } }
}

/// A client that sends requests to URIs of applications: to the public internet, and to the networks that the operator
/// listed. A name is resolved once, all its addresses are checked, and the request is sent to a checked one.
/// Redirections are not followed.
struct CallbackClient: Sendable {
    /// The networks that are permitted although they are not public.
    let listed: Setting<[IPNetwork]>
    /// See `StorageConfiguration.callbackTimeout`.
    let timeout: TimeSpan

    var addresses: AddressPolicy { AddressPolicy(listed: listed.value) }

    /// The result of a request.
    enum CallbackResult: Sendable {
        case status(Int, retryAfter: TimeSpan?)
        /// The address is not permitted.
        case forbidden(String)
        case none(String)
    }

    func send(
        _ method: String, _ uri: String, headers: [(name: String, value: String)], body: [UInt8]
    ) async -> CallbackResult {
        guard let address = try? WebAddress(uri) else { return .forbidden("the webhook's address is not a valid URI") }
        let target: TransportAddress
        do throws(AddressRejection) {
            target = try await addresses.resolveAndCheck(host: address.host, port: UInt16(exactly: address.port) ?? 0)
        } catch {
            if case .forbidden = error { return .forbidden("\(error)") }
            return .none("\(error)")
        }
        do {
            let answer = try await HTTPRequests.send(
                method, uri, at: target.ip.description, headers: headers, body: body, within: timeout.duration)
            return .status(
                answer.status, retryAfter: answer.retryAfter.map { .seconds(Int64(min(max($0, 0), 86_400))) })
        } catch {
            return .none("no answer")
        }
    }
}
