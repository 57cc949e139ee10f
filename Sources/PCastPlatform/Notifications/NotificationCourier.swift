import Logging
import PCastIO
import PCastMedia
import PCastRecords
import Synchronization

/// Carries notifications from the outbox to the addresses of the applications: in order for each stream and address, many
/// at a time for different ones, again and again by the schedule, until they are taken or kept aside.
actor NotificationCourier {
    private let records: Records
    private let client: CallbackClient
    private let schedule: RetrySchedule
    private let statistics: PlatformStatistics
    private let logger: Logger
    private var underway: Set<DueDelivery.Place> = []
    private var underwayTo: [CallbackRecord.Key: Int] = [:]
    /// Those of them that are over, and whose end the disk does not take.
    private var unwritten = 0
    private let (news, bell) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private(set) var counts = Counts()

    /// Attempts since the beginning.
    struct Counts: Sendable {
        var delivered = 0
        var failed = 0
        var aside = 0
    }

    /// Requests at one time: of all, and to one address, so that a slow one leaves room for the others.
    private static let limit = 64
    private static let limitEach = 8

    init(
        _ records: Records, client: CallbackClient, schedule: RetrySchedule, statistics: PlatformStatistics,
        logger: Logger
    ) {
        self.records = records
        self.client = client
        self.schedule = schedule
        self.statistics = statistics
        self.logger = logger
    }

    /// There may be something to send.
    nonisolated func wake() { bell.yield() }

    /// Sends until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            let alarm = Alarm(bell)
            alarm.set(to: .zero)
            for await _ in news {
                let next = await send(in: &group)
                alarm.set(to: next)
            }
            alarm.cancel()
            group.cancelAll()
        }
    }

    /// Waits until nothing is left that could be sent now, at most so long.
    func flush(within limit: TimeSpan) async {
        let end = MonotonicClock.now() + limit
        while MonotonicClock.now() < end {
            wake()
            let isLeft = (try? await records.due(at: MonotonicClock.wallTime(), each: 1, limit: 1).isEmpty) == false
            guard isLeft || underway.count > unwritten else { return }
            guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
        }
    }

    /// - Returns: how long until something is due; a minute at most, as the clock may be set.
    private func send(in group: inout DiscardingTaskGroup) async -> TimeSpan {
        let now = MonotonicClock.wallTime()
        do {
            // Those underway are still due, so they are asked for too, and left out.
            let due = try await records.due(at: now, each: Self.limitEach, limit: Self.limit + underway.count)
            for delivery in due where !underway.contains(delivery.place) && hasRoom(for: delivery) {
                begin(delivery)
                group.addTask { await self.attempt(delivery) }
            }
            guard let next = try await records.nextDue(after: now) else { return .seconds(60) }
            return min(max(next - MonotonicClock.wallTime(), .milliseconds(1)), .seconds(60))
        } catch {
            return .seconds(1)
        }
    }

    private func hasRoom(for delivery: DueDelivery) -> Bool {
        underway.count < Self.limit && underwayTo[delivery.callback.key, default: 0] < Self.limitEach
    }

    private func begin(_ delivery: DueDelivery) {
        underway.insert(delivery.place)
        underwayTo[delivery.callback.key, default: 0] += 1
    }

    private func end(_ delivery: DueDelivery) {
        underway.remove(delivery.place)
        let count = underwayTo[delivery.callback.key, default: 1] - 1
        underwayTo[delivery.callback.key] = count == 0 ? nil : count
        wake()
    }

    private func attempt(_ delivery: DueDelivery) async {
        let callback = delivery.callback
        var headers = callback.secret.headers(
            id: delivery.id, at: MonotonicClock.wallTime(), body: delivery.body)
        headers += [("Content-Type", "application/json"), ("User-Agent", "pcast")]
        let begin = MonotonicClock.now()
        let answer = await client.send(
            callback.method.rawValue, callback.uri, headers: headers, body: delivery.body)
        guard !Task.isCancelled else { return end(delivery) }
        statistics.notified(after: MonotonicClock.now() - begin)
        let (outcome, text) = judge(answer, delivery)
        count(outcome, text, delivery)
        // As long as it cannot be written what became of it, it is neither sent again nor is what follows.
        var isUnwritten = false
        while (try? await records.note(outcome, of: delivery.place, answer: text)) == nil {
            if !isUnwritten { unwritten += 1 }
            isUnwritten = true
            guard (try? await Task.sleep(for: .seconds(1))) != nil else { break }
        }
        if isUnwritten { unwritten -= 1 }
        end(delivery)
    }

    private func judge(_ answer: CallbackClient.Answer, _ delivery: DueDelivery) -> (Records.Outcome, String) {
        let retry = { (asked: TimeSpan?) in
            self.schedule.outcome(
                afterAttempts: delivery.attempts, at: MonotonicClock.wallTime(), chance: Double.random(in: 0..<1),
                asked: asked)
        }
        switch answer {
        case .status(200...299, _): return (.delivered, "delivered")
        // Standard Webhooks: who says that it is gone wants no more of it.
        case .status(410, _): return (.aside, "410")
        case .status(let status, let wait): return (retry(wait), "\(status)")
        case .forbidden(let why): return (.aside, why)
        case .none(let why): return (retry(nil), why)
        }
    }

    private func count(_ outcome: Records.Outcome, _ answer: String, _ delivery: DueDelivery) {
        let metadata: Logger.Metadata = [
            "notification": "\(delivery.id)", "stream": "\(delivery.stream)", "callback": "\(delivery.callback.name)",
            "answer": "\(answer)", "attempt": "\(delivery.attempts + 1)",
        ]
        switch outcome {
        case .delivered:
            counts.delivered += 1
            logger.debug("notified", metadata: metadata)
        case .retry:
            counts.failed += 1
            logger.info("a notification was not taken, and is tried again", metadata: metadata)
        case .aside:
            counts.failed += 1
            counts.aside += 1
            logger.warning("a notification was not taken, and is kept aside", metadata: metadata)
        }
    }
}
