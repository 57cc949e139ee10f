import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Whether viewers could begin with the packets of publishers that stand by.
@Suite("Arrivals of streams")
struct ArrivalTests {
    @Test("a publisher remains decodable when its last key frame is no longer in the log")
    func longIntervals() throws {
        let network = VirtualNetwork()
        let (stream, peer) = (StreamID("source-1"), PeerID(7))
        var media = IngestMedia(video: .h264, layers: 1, hasAudio: false)
        media.answersKeyFrameRequests = true
        try network.sfu.publish(peer, stream: stream, ingesting: media, at: network.now)
        let index = try #require(network.sfu.streamIndices[stream])
        func isDecodable() -> Bool? { network.sfu.arrivals(of: [stream])[stream]?.isDecodable }
        func hasKeyFrame() -> Bool { network.sfu.forwarder.streams[index].layers[0].log.newestKeyFrame != nil }
        #expect(isDecodable() == false)
        var frames = TestFrames(.h264)
        network.sfu.ingest(frames.next(), from: peer, at: network.now)
        #expect(isDecodable() == true && hasKeyFrame())
        for _ in 0..<2_500 { network.sfu.ingest(frames.next(), from: peer, at: network.now) }
        #expect(isDecodable() == true && !hasKeyFrame())
    }

    @Test("a publisher that was paused is not decodable until its next key frame")
    func resuming() throws {
        let network = VirtualNetwork()
        var first = try SpliceTests.Encoder(1, in: network)
        let index = try #require(network.sfu.streamIndices[first.stream])
        let stream = first.stream
        func isDecodable() -> Bool? { network.sfu.arrivals(of: [stream])[stream]?.isDecodable }
        first.send(10, by: network)
        network.sfu.unwatch(stream, of: first.peer, at: network.now)
        var paused = PausedTracks()
        paused.layers = 1
        network.sfu.forwarder.streams[index].receiver.follow(paused)
        #expect(isDecodable() == true)
        network.sfu.watch(stream, at: network.now)
        network.sfu.forwarder.streams[index].receiver.follow(PausedTracks())
        first.send(10, by: network)
        #expect(isDecodable() == false)
        // The next key frame is the fiftieth.
        first.send(40, by: network)
        #expect(isDecodable() == true)
    }
}
