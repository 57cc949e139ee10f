import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The maximum bit rate of a publisher.
@Suite struct BitrateCeilingTests {
    private func time(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// Returns the result for each bit rate, given in kbit/s with its time in milliseconds.
    private func observe(_ ceiling: inout BitrateLimit, _ values: [(Int64?, Int64)]) -> [Bool] {
        values.map { kilobits, moment in ceiling.observe(kilobits.map { .kilobits($0) }, at: time(moment)) }
    }

    @Test("a publisher is asked to keep to its limit as soon as it approaches it, and from then on") func asked() {
        var ceiling = BitrateLimit()
        let free = observe(&ceiling, [(5_000, 0)])
        #expect(free == [false] && ceiling.request == nil)
        ceiling.change(to: .kilobits(1_000))
        let far = observe(&ceiling, [(nil, 0), (499, 0)])
        #expect(far == [false, false] && ceiling.request == nil)
        let near = observe(&ceiling, [(500, 500)])
        #expect(near == [false] && ceiling.request == .kilobits(1_000))
        let less = observe(&ceiling, [(100, 1_000)])
        #expect(less == [false] && ceiling.request == .kilobits(1_000))
        ceiling.change(to: nil)
        #expect(ceiling.request == nil)
    }

    @Test("a publisher that exceeds its limit by half for ten seconds must be removed") func unheeded() {
        var ceiling = BitrateLimit()
        ceiling.change(to: .kilobits(1_000))
        let judged = observe(
            &ceiling, [(1_501, 0), (1_501, 9_500), (1_500, 9_900), (1_501, 10_000), (1_501, 19_999), (1_501, 20_000)])
        #expect(judged == [false, false, false, false, false, true])
    }

    @Test("the SFU requests a publisher's limit by REMB, and ends a stream that ignores it with `capacity`")
    func ended() throws {
        let network = VirtualNetwork(seed: 5)
        let (heedless, other) = (try network.publish(.vp8), try network.publish(.vp8, stream: StreamID("other")))
        let (viewer, watching) = (try network.view(), try network.view(stream: StreamID("other")))
        #expect(
            network.run {
                heedless.isConnected && other.isConnected && viewer.isConnected && watching.isConnected
            })
        network.sfu.limit(heedless.id, to: .kilobits(100))
        network.sfu.limit(other.id, to: .kilobits(100_000))
        var (first, second) = (Broadcast(.vp8), Broadcast(.vp8, seed: 2))
        first.videoFrames.frameSize = 900
        second.videoFrames.frameSize = 900
        func send(seconds: Int) {
            for _ in 0..<seconds * 50 {
                network.send(first.videoFrames.next(), from: heedless)
                second.send(1, from: other, by: network)
            }
        }
        send(seconds: 8)
        let (asked, unasked) = (heedless.connection.estimate?.target, other.connection.estimate?.target)
        #expect(try #require(asked) <= .kilobits(100))
        #expect(try #require(unasked) > .kilobits(100))
        #expect(network.endedReason(of: heedless.id) == nil)
        send(seconds: 6)
        #expect(network.endedReason(of: heedless.id) == .capacity && network.endedReason(of: viewer.id) == .capacity)
        #expect(network.endedReason(of: other.id) == nil && network.endedReason(of: watching.id) == nil)
        network.sfu.limit(heedless.id, to: nil)
    }
}
