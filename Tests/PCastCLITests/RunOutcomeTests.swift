import PCast
import PCastPlayback
import Testing

@testable import PCastCLI

struct RunOutcomeTests {
    private func status(
        _ ender: StreamEndedInfo.EndingParty, _ reason: StreamEndedReason, _ role: RunOutcome.Role
    ) -> PCastCLI.ExitStatus {
        let info = StreamEndedInfo(ender: ender, reason: reason, reasonDescription: reason.rawValue)
        return RunOutcome(.stream(info), as: role).status
    }

    @Test("a viewer succeeds if its publisher ended, and fails if its stream was removed")
    func viewer() {
        #expect(status(.platform, .ended, .viewer) == .ended)
        #expect(status(.platform, .pcastStop, .viewer) == .ended)
        #expect(status(.platform, .censored, .viewer) == .endedByPlatform)
        #expect(status(.platform, .failed, .viewer) == .endedByPlatform)
        #expect(status(.connection, .failed, .viewer) == .failed)
    }

    @Test("a publisher that the platform ended has failed, and one whose source ended has not")
    func publisher() {
        #expect(status(.platform, .ended, .publisher) == .endedByPlatform)
        #expect(status(.source, .ended, .publisher) == .ended)
        #expect(status(.source, .failed, .publisher) == .deviceFailure)
        #expect(RunOutcome(.interrupted, as: .publisher).status == .ended)
        #expect(RunOutcome(.elapsed, as: .viewer).status == .ended)
        #expect(RunOutcome(.session(.unauthorized), as: .viewer).status == .notAuthorized)
    }

    @Test("a stream that ends ends its player like a viewer, and a failure is reported")
    func unplayable() {
        func outcome(_ status: RequestStatus?) -> PCastCLI.ExitStatus {
            .of(.noStream("pcast://h/s", status: status, reason: "no"))
        }
        #expect(outcome(.unauthorized) == .notAuthorized)
        #expect(outcome(.noStreamPlaying) == .nothingToPlay)
        #expect(outcome(.capacity) == .failed)
        #expect(outcome(nil) == .platformUnreachable)
        #expect(PCastCLI.ExitStatus.of(.unreachable("film.mp4", reason: "no")) == .nothingToPlay)
        for failure in [PCastCLI.ExitStatus.notAuthorized, .nothingToPlay, .unusableArguments, .platformUnreachable] {
            #expect(PCastCLI.ExitStatus.of(PlayStreams.refusal(of: "s", CommandFailure(failure, "No."))) == failure)
        }
    }

    @Test("for an address, errors name its own parts, not options that do not exist")
    func addressed() {
        let text = "\(PlayStreams.refusal(of: "pcast://h/s", CommandFailure.needsToken))"
        #expect(text.contains("pcast://h/s") && text.contains("#token=TOKEN") && !text.contains("--token"))
    }

    @Test("the platform's reason for a stream's end is shown")
    func showsEndReason() {
        let info = StreamEndedInfo(ender: .platform, reason: .custom, reasonDescription: "lunch")
        let outcome = RunOutcome(.stream(info), as: .viewer)
        #expect(outcome.reason == "custom")
        #expect(outcome.description == "lunch")
        #expect(outcome.sentence == "The platform ended the stream: custom (lunch).")
    }
}
