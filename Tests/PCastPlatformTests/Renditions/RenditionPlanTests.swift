import PCastCore
import PCastIO
import PCastSFU
import Testing

@testable import PCastPlatform

@Suite("The plan of renditions")
struct RenditionPlanTests {
    private static let first = PeerID(1)
    private static let second = PeerID(2)
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private static func time(_ seconds: Double) -> Instant { start + TimeSpan(seconds: seconds) }

    private static func plan(maximumProcesses: Int = 1) -> RenditionPlan {
        var plan = RenditionPlan(maximumProcesses: maximumProcesses)
        _ = plan.begin(first)
        _ = plan.begin(second)
        return plan
    }

    @Test("renditions are offered at the beginning, once")
    func offers() {
        var plan = RenditionPlan(maximumProcesses: 1)
        let actions = plan.begin(Self.first)
        #expect(actions == [.offer(Self.first, true)])
        let again = plan.begin(Self.first)
        #expect(again.isEmpty)
        #expect(plan.processCount == 0)
    }

    @Test("a process starts with the first viewer, follows what viewers want, and stops some time after the last one")
    func lifetime() {
        var plan = Self.plan()
        let started = plan.want(0b10, of: Self.first, at: Self.time(0))
        #expect(started == [.start(Self.first, layers: 0b10)])
        let changed = plan.want(0b110, of: Self.first, at: Self.time(1))
        #expect(changed == [.change(Self.first, layers: 0b110)])
        let same = plan.want(0b110, of: Self.first, at: Self.time(1))
        #expect(same.isEmpty)
        let left = plan.want(0, of: Self.first, at: Self.time(2))
        #expect(left == [.change(Self.first, layers: 0)], "it encodes nothing, and remains for a while")
        let early = plan.advance(to: Self.time(11.9))
        #expect(early.isEmpty)
        let late = plan.advance(to: Self.time(12))
        #expect(late == [.stop(Self.first)])
        #expect(plan.processCount == 0)
    }

    @Test("a viewer that returns in time finds the process")
    func returns() {
        var plan = Self.plan()
        _ = plan.want(0b10, of: Self.first, at: Self.time(0))
        _ = plan.want(0, of: Self.first, at: Self.time(1))
        let back = plan.want(0b100, of: Self.first, at: Self.time(5))
        #expect(back == [.change(Self.first, layers: 0b100)])
        let later = plan.advance(to: Self.time(60))
        #expect(later.isEmpty)
        #expect(plan.processCount == 1)
    }

    @Test("without a free process renditions are withdrawn and reported, and offered again when there is room")
    func capacity() {
        var plan = Self.plan()
        _ = plan.want(0b10, of: Self.first, at: Self.time(0))
        let refused = plan.want(0b10, of: Self.second, at: Self.time(1))
        #expect(refused == [.offer(Self.second, false), .report(Self.second, .capacity)])
        #expect(plan.refusalCount == 1)
        // The viewers have another layer then.
        let none = plan.want(0, of: Self.second, at: Self.time(1))
        #expect(none.isEmpty)
        let full = plan.advance(to: Self.time(12))
        #expect(full.isEmpty)
        let ended = plan.end(Self.first)
        #expect(ended == [.stop(Self.first)])
        let offered = plan.advance(to: Self.time(22))
        #expect(offered == [.offer(Self.second, true)])
        let started = plan.want(0b10, of: Self.second, at: Self.time(23))
        #expect(started == [.start(Self.second, layers: 0b10)])
    }

    @Test("a process that nobody needs gives its place to another stream")
    func dispensable() {
        var plan = Self.plan()
        _ = plan.want(0b10, of: Self.first, at: Self.time(0))
        _ = plan.want(0, of: Self.first, at: Self.time(1))
        let started = plan.want(0b100, of: Self.second, at: Self.time(2))
        #expect(started == [.stop(Self.first), .start(Self.second, layers: 0b100)])
        #expect(plan.processCount == 1)
        let later = plan.advance(to: Self.time(60))
        #expect(later.isEmpty, "the first one is stopped already")
    }

    @Test("a process that fails starts again, and is given up after three failures")
    func failures() {
        var plan = Self.plan()
        _ = plan.want(0b10, of: Self.first, at: Self.time(0))
        for number in 0..<2 {
            let seconds = Double(number) * 2
            let failed = plan.processEnded(Self.first, at: Self.time(seconds))
            #expect(failed.isEmpty)
            let early = plan.advance(to: Self.time(seconds + 0.5))
            #expect(early.isEmpty)
            let again = plan.advance(to: Self.time(seconds + 1))
            #expect(again == [.start(Self.first, layers: 0b10)])
        }
        let given = plan.processEnded(Self.first, at: Self.time(5))
        #expect(given == [.offer(Self.first, false), .report(Self.first, .failure)])
        let early = plan.advance(to: Self.time(64))
        #expect(early.isEmpty)
        let offered = plan.advance(to: Self.time(65))
        #expect(offered == [.offer(Self.first, true), .start(Self.first, layers: 0b10)])
    }

    @Test("failures that are far apart do not count together")
    func rareFailures() {
        var plan = Self.plan()
        _ = plan.want(0b10, of: Self.first, at: Self.time(0))
        for number in 1...10 {
            let seconds = Double(number) * 40
            let failed = plan.processEnded(Self.first, at: Self.time(seconds))
            #expect(failed.isEmpty)
            let again = plan.advance(to: Self.time(seconds + 1))
            #expect(again == [.start(Self.first, layers: 0b10)])
        }
    }

    @Test("a process that fails while nobody needs it is not started again, and unknown publishers have no effect")
    func unneeded() {
        var plan = Self.plan()
        _ = plan.want(0b10, of: Self.first, at: Self.time(0))
        _ = plan.want(0, of: Self.first, at: Self.time(1))
        let failed = plan.processEnded(Self.first, at: Self.time(2))
        #expect(failed.isEmpty)
        let later = plan.advance(to: Self.time(60))
        #expect(later.isEmpty)
        let unknown = plan.want(1, of: PeerID(9), at: Self.time(61)) + plan.processEnded(PeerID(9), at: Self.time(61))
        #expect(unknown.isEmpty)
        let ended = plan.end(PeerID(9))
        #expect(ended.isEmpty)
    }

    @Test("the renditions of a bit mask are those of the ladder after the publisher's layer")
    func targets() {
        #expect(RenditionService.targets(0b10).map(\.height) == [0], "the size of the source")
        #expect(RenditionService.targets(0b100).map(\.height) == [720])
        #expect(RenditionService.targets(0b1000_1000).map(\.layer) == [3, 7])
        #expect(RenditionService.targets(0b1).isEmpty, "the publisher's own layer")
    }
}
