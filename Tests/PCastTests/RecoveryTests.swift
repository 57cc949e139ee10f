import PCastCore
import PCastRTP
import Synchronization
import Testing

@testable import PCast

@Suite struct RecoveryTests {
    private static let now = RecoveryPolicy.Action.retry(after: .zero)
    private static let soon = RecoveryPolicy.Action.retry(after: .milliseconds(1_000))

    @Test(
        "each reason of the platform has its action",
        arguments: [
            ("ended", .report), ("", .report), ("none", .report), ("censored", .report),
            ("egress-setup-failed", .report),
            ("words of one's own", .report), ("capacity", soon), ("egress-failed", soon), ("failed", now),
            ("died", now), ("server-error", now), ("maintenance", now), ("overload", now), ("app-background", .offer),
            ("pcast-stop", .offer),
        ] as [(String, RecoveryPolicy.Action)])
    func actionsByReason(reason: String, action: RecoveryPolicy.Action) {
        #expect(RecoveryPolicy().action(after: StreamEndedInfo(ender: .platform, wire: reason)) == action)
    }

    @Test("a stream that this program ended is not restarted, except after the background")
    func localEnd() {
        let policy = RecoveryPolicy()
        for reason in StreamEndedReason.allCases where reason != .appBackground {
            #expect(policy.action(after: StreamEndedInfo(ender: .stop, wire: reason.rawValue)) == .report)
            #expect(policy.action(after: StreamEndedInfo(ender: .source, wire: reason.rawValue)) == .report)
        }
        #expect(policy.action(after: StreamEndedInfo(ender: .stop, wire: "app-background")) == .offer)
        #expect(policy.action(after: StreamEndedInfo(ender: .connection, wire: "failed")) == Self.now)
    }

    @Test("a rejection is retried at growing intervals unless a new token is needed")
    func retriesAfterRejection() {
        let policy = RecoveryPolicy()
        for status in [RequestStatus.capacity, .rateLimited, .notReady, .failed, .timeout, .noStreamPlaying] {
            let actions = [1, 2, 3, 100].map { policy.action(afterRefusal: status, failures: $0) }
            #expect(actions == [1_000, 4_000, 9_000, 60_000].map { .retry(after: .milliseconds($0)) })
        }
        for status in [RequestStatus.unauthorized, .conflict, .badRequest, .notStarted] {
            #expect(policy.action(afterRefusal: status, failures: 1) == .report)
        }
    }

    @Test("the end reasons of the protocol are read")
    func wireReasons() {
        for reason in StreamEndedReason.allCases where reason != .custom {
            #expect(StreamEndedReason(wire: reason.rawValue) == reason)
        }
        for word in ["server-error", "session-error", "not-ready", "error", "died", "egress-failed"] {
            #expect(StreamEndedReason(wire: word) == .failed)
        }
        for word in ["", "none", "ended"] { #expect(StreamEndedReason(wire: word) == .ended) }
        #expect(StreamEndedReason(wire: "my words") == .custom)
    }

    // MARK: A stream that is had again

    /// A stream without media that ends when the test ends it.
    private final class PlainStream: RecoverableStream {
        let number: Int
        private let lifecycle = StreamLifecycle(.viewer)

        init(_ number: Int) { self.number = number }

        var ended: StreamEndedInfo { get async { await lifecycle.ended } }
        var endedInfo: StreamEndedInfo? { lifecycle.endedInfo }
        func stop() { end(.stop, "ended") }
        func end(_ ender: StreamEndedInfo.EndingParty, _ wire: String) {
            lifecycle.end(StreamEndedInfo(ender: ender, wire: wire))
        }
    }

    /// Creates numbered streams, or refuses to.
    private final class Attempts: Sendable {
        let refusals: Mutex<[RequestStatus]>
        let count = Mutex(1)

        init(refusing refusals: [RequestStatus] = []) { self.refusals = Mutex(refusals) }

        @Sendable func next() throws(PCastError) -> PlainStream {
            let number = count.withLock { count in
                count += 1
                return count
            }
            if let status = refusals.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                throw PCastError(status, .platform, "refused")
            }
            return PlainStream(number)
        }
    }

    private func recovering(
        _ first: PlainStream, _ attempts: Attempts, policy: RecoveryPolicy = RecoveryPolicy(minimumDuration: .zero)
    ) -> RecoveringStream<PlainStream> {
        RecoveringStream(first, policy: policy, isOnline: { _ in }) { () async throws(PCastError) in
            try attempts.next()
        }
    }

    @Test("a failed stream is restarted, and a regular end is final", .timeLimit(.minutes(5)))
    func restartAfterFailure() async throws {
        let first = PlainStream(1)
        let recovering = recovering(first, Attempts())
        var current = recovering.current.values.makeAsyncIterator()
        #expect(await current.next()??.number == 1)
        first.end(.platform, "maintenance")
        let gone = await current.next()
        #expect(gone != nil && gone! === nil)
        let second = try #require(await current.next() ?? nil)
        #expect(second.number == 2)
        #expect(recovering.observableEndedInfo.value == nil)
        second.end(.platform, "censored")
        #expect(await recovering.ended.reason == .censored)
        #expect(recovering.observableEndedInfo.value?.reason == .censored)
        #expect(recovering.current.value == nil)
    }

    @Test("recovery waits while the session is offline, and an unauthorized stream is final", .timeLimit(.minutes(5)))
    func offlineAndUnauthorized() async throws {
        let first = PlainStream(1)
        let attempts = Attempts(refusing: [.notReady, .notReady])
        let recovering = recovering(first, attempts)
        first.end(.connection, "failed")
        let second = await recovering.current.values.first { $0 != nil && $0?.number != 1 } ?? nil
        #expect(second?.number == 4)
        attempts.refusals.withLock { $0 = [.unauthorized] }
        second?.end(.platform, "overload")
        #expect(await recovering.ended.reason == .overload)
    }

    @Test("the application may accept or decline an offered retry", .timeLimit(.minutes(5)))
    func offeredRetry() async throws {
        let first = PlainStream(1)
        let recovering = recovering(first, Attempts())
        first.end(.stop, "app-background")
        let offer = try #require(await recovering.offer.values.first { $0 != nil } ?? nil)
        #expect(offer.info.reason == .appBackground)
        offer.perform()
        offer.dismiss()
        let second = try #require(await recovering.current.values.first { $0?.number == 2 } ?? nil)
        #expect(recovering.offer.value == nil)
        second.end(.platform, "pcast-stop")
        try #require(await recovering.offer.values.first { $0 != nil } ?? nil).dismiss()
        #expect(await recovering.ended.reason == .pcastStop)
    }

    @Test("a stop ends the stream, the attempts and the offer of a retry", .timeLimit(.minutes(5)))
    func stopEndsRecovery() async throws {
        let stream = PlainStream(1)
        let running = recovering(stream, Attempts())
        running.stop()
        running.stop()
        #expect(await running.ended == StreamEndedInfo(ender: .stop, wire: "ended"))
        #expect(stream.endedInfo != nil)

        let asked = PlainStream(1)
        let asking = recovering(asked, Attempts())
        asked.end(.stop, "app-background")
        _ = await asking.offer.values.first { $0 != nil }
        asking.stop()
        #expect(await asking.ended.reason == .appBackground)

        let lost = PlainStream(1)
        let waiting = recovering(lost, Attempts(refusing: Array(repeating: .capacity, count: 1_000)))
        lost.end(.platform, "failed")
        _ = await waiting.current.values.first { $0 == nil }
        waiting.stop()
        #expect(await waiting.ended.reason == .failed)
    }
}
