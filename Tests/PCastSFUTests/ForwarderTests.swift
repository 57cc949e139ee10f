import PCastCore
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The forwarder without admission, peers and transports, with the replica of another shard's stream.
struct ForwarderTests {
    private let now = VirtualNetwork.start + .seconds(100 as Int64)

    /// Returns a forwarder of shard 1 with one replica, whose publisher is on shard 0.
    private func makeForwarder() throws -> Forwarder {
        let network = VirtualNetwork(shards: 2)
        let publisher = try network.publish(.vp8, audio: true, layers: 2)
        #expect(network.run { publisher.isConnected })
        let snapshot = try network.sfu.replicate(VirtualNetwork.stream, to: 1, at: network.now)
        let configuration = SFUConfiguration(
            certificate: VirtualNetwork.certificate, advertised: [VirtualNetwork.relayAddress], offersTCP: false,
            clock: VirtualNetwork.clock, shard: Shard(1, of: 2))
        var forwarder = Forwarder(configuration)
        _ = forwarder.streams.insert(PublishedStream(snapshot, publisherShard: 0, at: now))
        return forwarder
    }

    private func messages(_ forwarder: inout Forwarder) -> [ShardMessageBatch.ShardMessage] {
        var messages: [ShardMessageBatch.ShardMessage] = []
        while let (shard, batch) = forwarder.shardLinks.poll() {
            if shard == 0 { messages += batch.shardMessages }
            forwarder.shardLinks.takeBack(batch)
        }
        return messages
    }

    private func subscribers(_ messages: [ShardMessageBatch.ShardMessage]) -> [StreamReplica.SubscribedTracks] {
        messages.compactMap { if case .subscribers(_, let tracks) = $0 { tracks } else { nil } }
    }

    @Test("each change of a replica's demand reports all its subscribed tracks to the publisher's shard")
    func demand() throws {
        var forwarder = try makeForwarder()
        forwarder.addSubscribers(1, of: .audio, stream: 0, at: now)
        forwarder.addSubscribers(1, of: .video, layer: 1, stream: 0, at: now)
        forwarder.addSubscribers(1, of: .video, layer: 1, stream: 0, at: now)
        forwarder.addSubscribers(-1, of: .audio, stream: 0, at: now)
        typealias Tracks = StreamReplica.SubscribedTracks
        let reported = subscribers(messages(&forwarder))
        let both = Tracks(layers: 2, audio: true)
        #expect(reported == [Tracks(layers: 0, audio: true), both, both, Tracks(layers: 2, audio: false)])
    }

    @Test("a request for a key frame of a replica is sent to the publisher's shard, and no layer requests none")
    func keyFrameRequest() throws {
        var forwarder = try makeForwarder()
        forwarder.requestKeyFrame(stream: 0, layer: nil)
        let none = messages(&forwarder).count
        forwarder.requestKeyFrame(stream: 0, layer: 1, isTentative: true)
        let requests = messages(&forwarder).compactMap { message -> Int? in
            if case .keyFrameWanted(_, let layer, true) = message { layer } else { nil }
        }
        #expect(none == 0 && requests == [1])
    }

    @Test("a replica that ends has no subscribers, and ends once")
    func end() throws {
        var forwarder = try makeForwarder()
        forwarder.addSubscribers(1, of: .audio, stream: 0, at: now)
        _ = messages(&forwarder)
        let first = forwarder.beginEnd(publisher: 0, reason: .ended, at: now)
        let second = forwarder.beginEnd(publisher: 0, reason: .ended, at: now)
        forwarder.reportEnd(publisher: 0, reason: .ended)
        let reported = subscribers(messages(&forwarder))
        let event = forwarder.events.popFirst()
        #expect(first && !second && reported == [StreamReplica.SubscribedTracks()])
        #expect(event == nil, "the end of a stream is an event of the publisher's shard only")
    }

    @Test("a replica without messages from the publisher's shard is overdue after five seconds")
    func timeout() throws {
        var forwarder = try makeForwarder()
        let early = forwarder.isOverdue(publisher: 0, at: now + Forwarder.replicaTimeout)
        let late = forwarder.isOverdue(publisher: 0, at: now + Forwarder.replicaTimeout + .milliseconds(1))
        #expect(!early && late)
    }
}
