import PCastCore
import PCastHLS
import Synchronization
import Testing

@testable import PCastPlayback

@Suite("A server that accepts a request and never answers it", .enabled(if: Program.hasFFmpeg))
struct HLSSilenceTests {
    /// No request has a time limit of its own within the test.
    private static func open(_ origin: TestOrigin) -> ThreadContent {
        ThreadContent(origin.content("/main.m3u8"))
    }

    @Test(
        "a segment on demand is loaded from the other variant, and each frame comes once", .timeLimit(.minutes(5)),
        arguments: ["high0", "high4"], [0, 0.5])
    func onDemand(_ silent: String, share: Double) async throws {
        let ladder = try LadderFilm(StampedVideo(seconds: 8, rate: 5), segmentSeconds: 1)
        let gate = LiveWindow(0..<1)
        let origin = try ladder.origin { name, answer in
            guard name == silent else { return }
            if share == 0 { gate.wait { _ in false } }
            answer.hangsAfter = Int(Double(answer.body.count) * share)
        }
        defer {
            gate.change { $0.isOver = true }
            origin.stop()
        }
        let content = Self.open(origin)
        defer { content.close() }
        _ = try await content.open()
        #expect(try await content.readItems().stamps == Array(0..<ladder.film.count))
        #expect(ladder.asked("low", of: origin).contains(Int(silent.dropFirst(4)) ?? 0))
    }

    @Test("a live variant is left for the other", .timeLimit(.minutes(5)), arguments: ["high", "high7"])
    func live(_ silent: String) async throws {
        let window = LiveWindow(0..<5)
        let gate = LiveWindow(0..<1)
        // The requests that are not answered, and that number when the other variant is requested first.
        let requests = Mutex<(unanswered: Int, untilLow: Int?)>((0, nil))
        let (ladder, origin) = try HLSAlternativeTests.live(window, padding: 1_000) { name in
            if name == "low" {
                requests.withLock { if $0.unanswered > 0 { $0.untilLow = $0.untilLow ?? $0.unanswered } }
            }
            if name == silent, window.current.numbers.upperBound > 5 {
                requests.withLock { $0.unanswered += 1 }
                gate.wait { _ in false }
            }
            return false
        }
        defer {
            gate.change { $0.isOver = true }
            origin.stop()
        }
        let content = Self.open(origin)
        defer { content.close() }
        _ = try await content.open()
        let stamps = try await HLSAlternativeTests.readOn(content, window, to: 16)
        #expect(stamps == Array((stamps.first ?? 0)..<ladder.film.count))
        // A reload that is not answered fails by itself after eight seconds, and is then requested again.
        #expect(requests.withLock { $0.untilLow } == 1)
    }

    @Test("the playlist of a better live variant is not waited for", .timeLimit(.minutes(5)))
    func better() async throws {
        let window = LiveWindow(0..<5)
        let gate = LiveWindow(0..<1)
        let (ladder, origin) = try HLSAlternativeTests.live(window, peak: 1_500_000, padding: 1_000) { name in
            if name == "high" { gate.wait { _ in false } }
            return false
        }
        defer {
            gate.change { $0.isOver = true }
            origin.stop()
        }
        let content = Self.open(origin)
        defer { content.close() }
        _ = try await content.open()
        let stamps = try await HLSAlternativeTests.readOn(content, window, to: 16)
        #expect(stamps == Array((stamps.first ?? 0)..<ladder.film.count))
        #expect(origin.requests.contains("/high.m3u8") && ladder.asked("high", of: origin).isEmpty)
    }
}
