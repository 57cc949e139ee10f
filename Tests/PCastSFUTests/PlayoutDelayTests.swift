import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC
import Testing

/// The playout delay that viewers receive, and the clock on which it is based.
struct PlayoutDelayTests {
    @Test("viewers delay frames only as the network requires, unless the stream or their token states a delay")
    func playoutDelayLimits() throws {
        let network = VirtualNetwork(seed: 4)
        let publisher = try network.publish(.vp8)
        let free = try network.view()
        let buffered = try network.view(terms: PeerOptions(playout: .milliseconds(500)))
        #expect(network.run { publisher.isConnected && free.isConnected && buffered.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        let asked = try #require(free.connection.statistics.playoutDelay)
        #expect(asked.minimum == .zero && asked.maximum == .zero, "the path has low jitter")
        let longer = try #require(buffered.connection.statistics.playoutDelay)
        #expect(longer.minimum == .milliseconds(500) && longer.maximum == .seconds(10))
    }

    @Test("viewers of a stream with synchronized playout receive the delay and agree on the SFU's clock")
    func synchronizedPlayout() throws {
        let network = VirtualNetwork(seed: 5)
        let publisher = try network.publish(.vp8, terms: PeerOptions(playout: .milliseconds(300)))
        let delays: [Int64] = [5, 20, 40, 60]
        let viewers = try delays.map { delay in
            network.link.delay = .milliseconds(delay)
            network.link.jitter = .milliseconds(delay / 10)
            return try network.view()
        }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var broadcast = Broadcast(.vp8)
        broadcast.send(400, from: publisher, by: network)
        let clock = VirtualNetwork.clock
        let truth = TimeSpan.nanoseconds(clock.instant.nanoseconds - clock.wallTime.nanosecondsSinceEpoch)
        for viewer in viewers {
            let statistics = viewer.connection.statistics
            #expect(statistics.playoutDelay == PlayoutDelay(minimum: .milliseconds(300), maximum: .milliseconds(300)))
            let offset = try #require(statistics.senderClockOffset)
            #expect((offset - truth).magnitude < .milliseconds(8))
        }
    }
}
