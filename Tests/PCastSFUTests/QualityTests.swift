import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Rows of the data quality's tables, caused by what the network does to real peers.
@Suite("Data quality at the relay")
struct QualityTests {
    private let network = VirtualNetwork()

    /// A publisher and a viewer, some seconds after they met.
    private func playing(_ broadcast: inout Broadcast) throws -> (publisher: CallPeer, viewer: CallPeer) {
        let publisher = try network.publish(.vp8)
        #expect(network.run { publisher.isConnected })
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        broadcast.send(200, from: publisher, by: network)
        return (publisher, viewer)
    }

    private func rows(of peer: CallPeer) -> [DataQuality] {
        network.events.compactMap { event in
            if case .dataQuality(peer.id, let row) = event { row } else { nil }
        }
    }

    private func row(_ status: DataQuality.Status, _ reason: DataQuality.Reason) -> DataQuality {
        DataQuality(status: status, reason: reason)
    }

    @Test("On a good network no row is told, with joining, leaving and a pause between")
    func good() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        broadcast.send(200, from: publisher, by: network)
        viewer.connection.close(at: network.now)
        network.settle(viewer)
        broadcast.send(300, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
        let second = try network.view()
        broadcast.send(300, from: publisher, by: network)
        #expect(second.isConnected && !publisher.isPaused(.video))
        for peer in [publisher, viewer, second] { #expect(rows(of: peer).isEmpty) }
    }

    @Test("The publisher's link is cut: NoData within two seconds to both, and good again when it is back")
    func publisherCut() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        let cut = network.now
        publisher.link.carriesUDP = false
        broadcast.send(200, from: publisher, by: network)
        #expect(rows(of: publisher) == [row(.noData, .none)])
        #expect(rows(of: viewer) == [row(.noData, .publisherLimited)])
        for event in [
            SFUEvent.dataQuality(publisher.id, row(.noData, .none)),
            .dataQuality(viewer.id, row(.noData, .publisherLimited)),
        ] {
            #expect(try #require(network.time(of: event)) - cut <= .milliseconds(1_600))
        }
        publisher.link.carriesUDP = true
        broadcast.send(200, from: publisher, by: network)
        #expect(rows(of: publisher) == [row(.noData, .none), .good])
        #expect(rows(of: viewer) == [row(.noData, .publisherLimited), .good])
    }

    @Test("A viewer's link is cut: NoData for it, and nothing for anybody else")
    func viewerCut() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        let other = try network.view()
        broadcast.send(100, from: publisher, by: network)
        viewer.link.carriesUDP = false
        broadcast.send(200, from: publisher, by: network)
        #expect(rows(of: viewer) == [row(.noData, .none)])
        viewer.link.carriesUDP = true
        broadcast.send(250, from: publisher, by: network)
        #expect(rows(of: viewer).last == .good)
        #expect(rows(of: publisher).isEmpty && rows(of: other).isEmpty)
    }

    @Test("A publisher's link loses much: UploadLimited for it, PublisherLimited for its viewers")
    func publisherLoses() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        publisher.link.loss = 35
        broadcast.send(250, from: publisher, by: network)
        #expect(rows(of: publisher) == [row(.all, .uploadLimited)])
        #expect(rows(of: viewer) == [row(.all, .publisherLimited)])
        publisher.link.loss = 0
        broadcast.send(400, from: publisher, by: network)
        #expect(rows(of: publisher).last == .good)
        #expect(rows(of: viewer).last == .good)
    }

    @Test("A publisher's link that lost much and then is cut: NoData, UploadLimited")
    func publisherLosesAll() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, _) = try playing(&broadcast)
        publisher.link.loss = 50
        broadcast.send(150, from: publisher, by: network)
        publisher.link.carriesUDP = false
        broadcast.send(150, from: publisher, by: network)
        #expect(rows(of: publisher) == [row(.all, .uploadLimited), row(.noData, .uploadLimited)])
    }

    @Test("A viewer's link loses much: DownloadLimited for it alone")
    func viewerLoses() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        let others = [try network.view(), try network.view()]
        broadcast.send(100, from: publisher, by: network)
        viewer.link.loss = 35
        broadcast.send(400, from: publisher, by: network)
        #expect(rows(of: viewer).allSatisfy { $0.reason == .downloadLimited } && !rows(of: viewer).isEmpty)
        #expect(rows(of: publisher).isEmpty)
        for other in others { #expect(rows(of: other).isEmpty) }
    }

    @Test("Two in a hundred lost, and late by chance: no row")
    func littleLoss() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        for peer in [publisher, viewer] {
            peer.link.loss = 2
            peer.link.jitter = .milliseconds(10)
        }
        broadcast.send(1_000, from: publisher, by: network)
        #expect(rows(of: publisher).isEmpty && rows(of: viewer).isEmpty)
    }

    @Test("A publisher that keeps its picture back says so: AudioOnly, None for viewers, and no row for itself")
    func withheld() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        publisher.connection.setPublisherReport(PublisherReport(isVideoWithheld: true), at: network.now)
        network.settle(publisher)
        for _ in 0..<200 {
            network.send(broadcast.sound.next(), from: publisher)
            network.run(for: Broadcast.interval)
        }
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer) == [row(.audioOnly, .none)])
        publisher.connection.setPublisherReport(
            PublisherReport(isVideoWithheld: true, isAudioWithheld: true), at: network.now)
        network.settle(publisher)
        network.run(for: .seconds(4 as Int64))
        #expect(rows(of: publisher).isEmpty, "who keeps all back is not cut off")
        publisher.connection.setPublisherReport(PublisherReport(), at: network.now)
        network.settle(publisher)
        broadcast.send(200, from: publisher, by: network)
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer).last == .good)
    }

    @Test("A publisher that does not say so and stops sending of its own accord is told by its reports' counts")
    func idle() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        for _ in 0..<200 {
            network.send(broadcast.sound.next(), from: publisher)
            network.run(for: Broadcast.interval)
        }
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer) == [row(.audioOnly, .none)])
    }

    @Test("A stream of sound alone: AudioOnly, None")
    func soundAlone() throws {
        let publisher = try network.publish(nil)
        #expect(network.run { publisher.isConnected })
        let viewer = try network.view()
        var broadcast = Broadcast(.vp8)
        for _ in 0..<200 {
            network.send(broadcast.sound.next(), from: publisher)
            network.run(for: Broadcast.interval)
        }
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer) == [row(.audioOnly, .none)])
    }
}
