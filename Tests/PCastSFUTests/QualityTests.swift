import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The data quality that real peers receive because of the network.
@Suite("Data quality at the SFU")
struct QualityTests {
    private let network = VirtualNetwork()

    /// Returns a publisher and a viewer that have been connected for some seconds.
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

    @Test("on a good network there is no data-quality event, even after joins, leaves and pauses")
    func good() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        broadcast.send(200, from: publisher, by: network)
        viewer.connection.close(at: network.now)
        network.deliverAll(viewer)
        broadcast.send(300, from: publisher, by: network)
        #expect(publisher.isPaused(.video) && publisher.isPaused(.audio))
        let second = try network.view()
        broadcast.send(300, from: publisher, by: network)
        #expect(second.isConnected && !publisher.isPaused(.video))
        for peer in [publisher, viewer, second] { #expect(rows(of: peer).isEmpty) }
    }

    @Test("if the publisher's link is cut, both ends receive NoData within two seconds, and good after its recovery")
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

    @Test("if a viewer's link is cut, that viewer alone receives NoData")
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

    @Test("if a publisher's link loses much, it receives UploadLimited and its viewers PublisherLimited")
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

    @Test("if a publisher's link loses much and is then cut, it receives NoData with UploadLimited")
    func publisherLosesAll() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, _) = try playing(&broadcast)
        publisher.link.loss = 50
        broadcast.send(150, from: publisher, by: network)
        publisher.link.carriesUDP = false
        broadcast.send(150, from: publisher, by: network)
        #expect(rows(of: publisher) == [row(.all, .uploadLimited), row(.noData, .uploadLimited)])
    }

    @Test("if a viewer's link loses much, that viewer alone receives DownloadLimited")
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

    @Test("a loss of 2 % with jitter causes no data-quality event")
    func maximumLossToEnd() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        for peer in [publisher, viewer] {
            peer.link.loss = 2
            peer.link.jitter = .milliseconds(10)
        }
        broadcast.send(1_000, from: publisher, by: network)
        #expect(rows(of: publisher).isEmpty && rows(of: viewer).isEmpty)
    }

    @Test("viewers of a publisher that reports withheld video receive AudioOnly with None")
    func withheld() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        publisher.connection.setPublisherReport(PublisherReport(isVideoWithheld: true), at: network.now)
        network.deliverAll(publisher)
        for _ in 0..<200 {
            network.send(broadcast.audio.next(), from: publisher)
            network.run(for: Broadcast.interval)
        }
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer) == [row(.audioOnly, .none)])
        publisher.connection.setPublisherReport(
            PublisherReport(isVideoWithheld: true, isAudioWithheld: true), at: network.now)
        network.deliverAll(publisher)
        network.run(for: .seconds(4 as Int64))
        #expect(rows(of: publisher).isEmpty, "a publisher that withholds its media is not reported as disconnected")
        publisher.connection.setPublisherReport(PublisherReport(), at: network.now)
        network.deliverAll(publisher)
        broadcast.send(200, from: publisher, by: network)
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer).last == .good)
    }

    @Test("a publisher that stops sending without a report is detected by its sender reports' counts")
    func idle() throws {
        var broadcast = Broadcast(.vp8)
        let (publisher, viewer) = try playing(&broadcast)
        for _ in 0..<200 {
            network.send(broadcast.audio.next(), from: publisher)
            network.run(for: Broadcast.interval)
        }
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer) == [row(.audioOnly, .none)])
    }

    @Test("viewers of a stream with audio alone receive AudioOnly with None")
    func audioAlone() throws {
        let publisher = try network.publish(nil)
        #expect(network.run { publisher.isConnected })
        let viewer = try network.view()
        var broadcast = Broadcast(.vp8)
        for _ in 0..<200 {
            network.send(broadcast.audio.next(), from: publisher)
            network.run(for: Broadcast.interval)
        }
        #expect(rows(of: publisher).isEmpty)
        #expect(rows(of: viewer) == [row(.audioOnly, .none)])
    }
}
