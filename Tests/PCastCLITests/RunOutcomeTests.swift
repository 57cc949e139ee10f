import PCast
import Testing

@testable import PCastCLI

struct RunOutcomeTests {
    private func status(
        _ ender: StreamEndedInfo.Ender, _ reason: StreamEndedReason, _ role: RunOutcome.Role
    ) -> PCastCLI.ExitStatus {
        let info = StreamEndedInfo(ender: ender, reason: reason, reasonDescription: reason.rawValue)
        return RunOutcome(.stream(info), as: role).status
    }

    @Test("A viewer whose publisher ended has ended well; one whose stream was taken away has not")
    func viewer() {
        #expect(status(.platform, .ended, .viewer) == .ended)
        #expect(status(.platform, .pcastStop, .viewer) == .ended)
        #expect(status(.platform, .censored, .viewer) == .endedByPlatform)
        #expect(status(.platform, .failed, .viewer) == .endedByPlatform)
        #expect(status(.connection, .failed, .viewer) == .failed)
    }

    @Test("A publisher that the platform ended has not ended by itself; one whose source ended has")
    func publisher() {
        #expect(status(.platform, .ended, .publisher) == .endedByPlatform)
        #expect(status(.source, .ended, .publisher) == .ended)
        #expect(status(.source, .failed, .publisher) == .deviceTrouble)
        #expect(RunOutcome(.interrupted, as: .publisher).status == .ended)
        #expect(RunOutcome(.elapsed, as: .viewer).status == .ended)
        #expect(RunOutcome(.session(.unauthorized), as: .viewer).status == .notAuthorized)
    }

    @Test("What the platform says of a stream is told")
    func told() {
        let info = StreamEndedInfo(ender: .platform, reason: .custom, reasonDescription: "lunch")
        let outcome = RunOutcome(.stream(info), as: .viewer)
        #expect(outcome.reason == "custom")
        #expect(outcome.description == "lunch")
        #expect(outcome.sentence == "The platform ended the stream: custom (lunch).")
    }
}
