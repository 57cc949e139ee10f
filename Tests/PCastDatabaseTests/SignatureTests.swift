import PCastCore
import Testing

@testable import PCastDatabase

@Suite struct SignatureTests {
    @Test("a notification is signed like Standard Webhooks' own example") func vector() throws {
        let secret = try #require(SigningSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let headers = secret.headers(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: WallTime(millisecondsSinceEpoch: 1_614_265_330_999),
            body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(
            headers.map(\.value) == [
                "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ])
    }

    @Test("a secret has 24 to 64 bytes, and is not printed") func secrets() throws {
        let made = SigningSecret.random()
        #expect(SigningSecret(made.text) == made)
        #expect(made != .random())
        #expect(!"\(made)".contains("whsec_"))
        for text in ["", "whsec_", "whsec_QUJD", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_???"] {
            #expect(SigningSecret(text) == nil, "\(text)")
        }
    }

    @Test("waiting times grow, have up to a fifth of random extra time, and end") func schedule() {
        let schedule = RetrySchedule.standard
        let now = Sample.time
        var last = TimeSpan.zero
        for attempt in schedule.waits.indices {
            guard case .retry(let least) = schedule.outcome(afterAttempts: attempt, at: now, random: 0),
                case .retry(let most) = schedule.outcome(afterAttempts: attempt, at: now, random: 0.999_999)
            else {
                Issue.record("the schedule ended early")
                return
            }
            #expect(least - now > last)
            #expect((most - now).seconds < (least - now).seconds * 1.2)
            last = least - now
        }
        #expect(schedule.outcome(afterAttempts: schedule.waits.count, at: now, random: 0) == .failed)
        let total = schedule.waits.reduce(TimeSpan.zero, +)
        #expect((TimeSpan.seconds(2 * 86_400)...TimeSpan.seconds(4 * 86_400)).contains(total))
    }

    @Test("a receiver can ask for a pause of a day at most") func asked() {
        let schedule = RetrySchedule(waits: [.seconds(1)])
        let now = Sample.time
        let outcome = { (asked: TimeSpan) in schedule.outcome(afterAttempts: 0, at: now, random: 0, asked: asked) }
        #expect(outcome(.milliseconds(1)) == .retry(at: now + .seconds(1)))
        #expect(outcome(.seconds(90)) == .retry(at: now + .seconds(90)))
        #expect(outcome(.seconds(1 << 30)) == .retry(at: now + .seconds(86_400)))
    }
}
