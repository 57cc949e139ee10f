import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The data quality of streams over narrow links, with a publisher that honors its congestion control.
@Suite("Data quality over narrow links")
struct NarrowLinkQualityTests {
    /// A publisher that adapts the size of its frames to the bandwidth, and sends no video if there is almost none.
    private struct Publisher {
        /// The bit rate of all tracks on the wire.
        static let wanted = Bitrate.kilobits(900)
        private static let least = Bitrate.kilobits(160)
        /// The bit rate of audio on the wire.
        private static let audio: Int64 = 80_000

        let peer: CallPeer
        let hasAudio: Bool
        var broadcast = Broadcast(.vp8)

        mutating func send(seconds: Double, by network: VirtualNetwork) {
            peer.connection.setDesiredBitrate(Self.wanted)
            for _ in 0..<Int(seconds * 50) {
                let estimate = peer.connection.estimate
                let room = min(estimate?.target ?? Self.wanted, Self.wanted)
                let isCut = room < Self.least
                let isLimited = estimate?.isLimited == true
                peer.connection.setPublisherReport(
                    PublisherReport(
                        isVideoCut: isCut, wanted: Self.wanted, estimate: isLimited ? room : Self.wanted),
                    at: network.now)
                if hasAudio { network.send(broadcast.audio.next(), from: peer) }
                if !isCut {
                    let bits = room.bitsPerSecond - (hasAudio ? Self.audio : 0)
                    // Each frame has two packets with seventy bytes of headers.
                    broadcast.videoFrames.frameSize = max(60, Int(bits / 8 / 50) - 140)
                    broadcast.videoFrames.keyFrameSize = broadcast.videoFrames.frameSize * 2
                    let isAsked = peer.beginnings > seen || wasCut
                    seen = peer.beginnings
                    network.send(broadcast.videoFrames.next(isKeyFrame: isAsked ? true : nil), from: peer)
                }
                wasCut = isCut
                network.run(for: Broadcast.interval)
            }
        }

        private var seen = 0
        private var wasCut = false

        init(_ peer: CallPeer, hasAudio: Bool) {
            self.peer = peer
            self.hasAudio = hasAudio
        }
    }

    private let network = VirtualNetwork(seed: 7)

    private func playing(audio: Bool = true, viewers count: Int) throws -> (Publisher, [CallPeer]) {
        let peer = try network.publish(.vp8, audio: audio)
        #expect(network.run { peer.isConnected })
        let viewers = try (0..<count).map { _ in try network.view() }
        var publisher = Publisher(peer, hasAudio: audio)
        publisher.send(seconds: 6, by: network)
        for viewer in viewers { #expect(viewer.isConnected && rows(of: viewer).isEmpty) }
        #expect(rows(of: peer).isEmpty)
        return (publisher, viewers)
    }

    private func rows(of peer: CallPeer) -> [DataQuality] {
        network.events.compactMap { event in
            if case .dataQuality(peer.id, let row) = event { row } else { nil }
        }
    }

    private func row(_ status: DataQuality.Status, _ reason: DataQuality.Reason) -> DataQuality {
        DataQuality(status: status, reason: reason)
    }

    private func narrow(_ peer: CallPeer, to rate: Bitrate?) {
        peer.link.both { $0.rate = rate }
    }

    @Test("the selected publisher of a spliced stream is asked for what the links of the stream's viewers carry")
    func spliced() throws {
        var media = IngestMedia(video: .vp8, hasAudio: true)
        media.answersKeyFrameRequests = true
        try network.sfu.publish(
            SpliceTests.name, stream: VirtualNetwork.stream, ingesting: media, at: network.now)
        func publish(_ stream: StreamID) throws -> Publisher {
            let peer = try network.publish(.vp8, stream: stream)
            #expect(network.run { peer.isConnected })
            network.sfu.watch(stream, at: network.now)
            try network.sfu.splice(stream, into: VirtualNetwork.stream, at: network.now)
            return Publisher(peer, hasAudio: true)
        }
        func target(_ publisher: Publisher) throws -> Bitrate {
            let estimate = publisher.peer.connection.estimate
            return try #require(estimate).target
        }
        var publisher = try publish(StreamID("first"))
        let viewer = try network.view()
        publisher.send(seconds: 6, by: network)
        #expect(viewer.isConnected && rows(of: viewer).isEmpty)
        #expect(try target(publisher) >= Publisher.wanted)

        narrow(viewer, to: .kilobits(450))
        publisher.send(seconds: 8, by: network)
        #expect(try target(publisher) < .kilobits(500))

        // The next publisher is asked, and the former one is not any more.
        var next = try publish(StreamID("next"))
        for _ in 0..<8 {
            next.send(seconds: 1, by: network)
            publisher.send(seconds: 0.1, by: network)
        }
        #expect(try target(next) < .kilobits(500))
        #expect(try target(publisher) > .kilobits(500))
    }

    @Test("if half of the viewers are limited, the publisher lowers its bit rate, and each peer receives the cause")
    func lowered() throws {
        let (connected, viewers) = try playing(viewers: 2)
        var publisher = connected
        narrow(viewers[0], to: .kilobits(450))
        publisher.send(seconds: 8, by: network)
        #expect(rows(of: viewers[0]).last == row(.all, .downloadLimited))
        #expect(rows(of: publisher.peer).last == row(.all, .networkLimited))
        #expect(rows(of: viewers[1]).last == row(.all, .networkLimited))
        let estimate = publisher.peer.connection.estimate
        #expect(try #require(estimate).target < .kilobits(600))

        narrow(viewers[0], to: nil)
        publisher.send(seconds: 20, by: network)
        for peer in [publisher.peer] + viewers { #expect(rows(of: peer).last == .good) }
        for peer in [publisher.peer] + viewers { #expect(rows(of: peer).count <= 8, "the state must not oscillate") }
    }

    @Test("one limited viewer of three is notified, and the others are not")
    func fewer() throws {
        let (connected, viewers) = try playing(viewers: 3)
        var publisher = connected
        narrow(viewers[0], to: .kilobits(450))
        publisher.send(seconds: 10, by: network)
        #expect(!rows(of: viewers[0]).isEmpty)
        #expect(rows(of: viewers[0]).allSatisfy { $0.reason == .downloadLimited })
        #expect(rows(of: publisher.peer).isEmpty)
        #expect(rows(of: viewers[1]).isEmpty && rows(of: viewers[2]).isEmpty)
    }

    @Test("if the only viewer has bandwidth for audio alone, both ends receive AudioOnly within three seconds")
    func audioAlone() throws {
        let (connected, viewers) = try playing(viewers: 1)
        var publisher = connected
        let fall = network.now
        narrow(viewers[0], to: .kilobits(110))
        publisher.send(seconds: 10, by: network)
        #expect(rows(of: viewers[0]).last == row(.audioOnly, .downloadLimited))
        #expect(rows(of: publisher.peer).last == row(.audioOnly, .networkLimited))
        for event in [
            SFUEvent.dataQuality(viewers[0].id, row(.audioOnly, .downloadLimited)),
            .dataQuality(publisher.peer.id, row(.audioOnly, .networkLimited)),
        ] {
            #expect(try #require(network.time(of: event)) - fall <= .seconds(3 as Int64))
        }
        #expect(rows(of: viewers[0]).allSatisfy { $0.reason == .downloadLimited })
        #expect(rows(of: publisher.peer).allSatisfy { $0.reason == .networkLimited })
        narrow(viewers[0], to: nil)
        publisher.send(seconds: 10, by: network)
        #expect(try #require(rows(of: viewers[0]).last).status == .all)
        #expect(try #require(rows(of: publisher.peer).last).status == .all)
    }

    @Test("if most viewers have bandwidth for audio alone, the others receive NetworkLimited")
    func withoutVideo() throws {
        for hasAudio in [true, false] {
            let scene = NarrowLinkQualityTests()
            let (connected, viewers) = try scene.playing(audio: hasAudio, viewers: 3)
            var publisher = connected
            for viewer in viewers.prefix(2) { scene.narrow(viewer, to: .kilobits(110)) }
            publisher.send(seconds: 12, by: scene.network)
            #expect(scene.rows(of: publisher.peer).last == row(.audioOnly, .networkLimited))
            #expect(scene.rows(of: viewers[2]).last == row(hasAudio ? .audioOnly : .noData, .networkLimited))
            #expect(scene.rows(of: viewers[0]).last == row(hasAudio ? .audioOnly : .noData, .downloadLimited))
        }
    }

    @Test("if the publisher's link is narrow, it receives UploadLimited and its viewer PublisherLimited")
    func narrowUplink() throws {
        let (connected, viewers) = try playing(viewers: 1)
        var publisher = connected
        narrow(publisher.peer, to: .kilobits(450))
        publisher.send(seconds: 8, by: network)
        #expect(rows(of: publisher.peer).first == row(.all, .uploadLimited))
        #expect(rows(of: viewers[0]).contains(row(.all, .publisherLimited)))
        narrow(publisher.peer, to: .kilobits(110))
        publisher.send(seconds: 6, by: network)
        #expect(rows(of: publisher.peer).last == row(.audioOnly, .uploadLimited))
        #expect(rows(of: viewers[0]).last == row(.audioOnly, .publisherLimited))
        #expect(rows(of: publisher.peer).allSatisfy { $0.reason == .uploadLimited })
    }
}
