import Foundation
import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC
import Testing

/// The counters of a connection, by the names of W3C webrtc-stats.
@Suite("Statistics by the names of webrtc-stats")
struct StatsTests {
    private let network = VirtualNetwork()

    private func playing() throws -> (publisher: CallPeer, viewer: CallPeer, Broadcast) {
        let publisher = try network.publish(.vp8)
        #expect(network.run { publisher.isConnected })
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        viewer.link.loss = 5
        broadcast.send(300, from: publisher, by: network)
        return (publisher, viewer, broadcast)
    }

    /// Checks that IDs are unique and that each object refers only to existing ones.
    private func check(_ report: RTCStatsReport) {
        let ids = report.all.map(\.id)
        #expect(Set(ids).count == ids.count)
        for stats in report.outbound {
            #expect(ids.contains(stats.codecId) && ids.contains(stats.transportId))
            if let remote = stats.remoteId { #expect(ids.contains(remote)) }
        }
        for stats in report.inbound {
            #expect(ids.contains(stats.codecId) && ids.contains(stats.transportId))
            if let remote = stats.remoteId { #expect(ids.contains(remote)) }
        }
        #expect(report.transports.count == 1)
        #expect(report.transports.first?.selectedCandidatePairId == report.candidatePairs.first?.id)
        for pair in report.candidatePairs {
            #expect(ids.contains(pair.localCandidateId) && ids.contains(pair.remoteCandidateId))
        }
        for stats in report.all { #expect(report[stats.id]?.type == stats.type) }
    }

    @Test("a publisher's statistics contain what it sent, and what the platform reports about it")
    func publisher() throws {
        let (publisher, _, broadcast) = try playing()
        let report = publisher.connection.stats(at: network.now)
        check(report)
        #expect(report.inbound.isEmpty)
        let video = try #require(report.outbound.first { $0.kind == .video })
        let audio = try #require(report.outbound.first { $0.kind == .audio })
        #expect(video.packetsSent >= 300 && !broadcast.sent.isEmpty)
        #expect(audio.packetsSent == 300)
        #expect(video.bytesSent > 100 * video.packetsSent)
        #expect(video.active == true && video.mid != nil && video.rtxSsrc != nil)
        #expect(report.codecs.map(\.mimeType).sorted() == ["audio/opus", "video/VP8"])
        let remote = try #require(report.remoteInbound.first { $0.localId == video.id })
        #expect(remote.packetsLost == 0 && remote.fractionLost == 0)
        #expect(try #require(remote.roundTripTime) >= 0.02)
        let transport = try #require(report.transports.first)
        #expect(transport.packetsSent > video.packetsSent + audio.packetsSent)
        #expect(transport.bytesReceived > 0 && transport.dtlsState == "connected")
        #expect(transport.srtpCipher == "SRTP_AEAD_AES_128_GCM")
        #expect(report.candidatePairs.first?.availableOutgoingBitrate ?? 0 > 0)
    }

    @Test("a viewer's statistics contain arrivals, losses and requests, and what the platform sent")
    func viewer() throws {
        let (_, viewer, _) = try playing()
        let report = viewer.connection.stats(at: network.now)
        check(report)
        #expect(report.outbound.isEmpty && report.remoteInbound.isEmpty)
        let video = try #require(report.inbound.first { $0.kind == .video })
        #expect(video.packetsReceived > 250 && video.nackCount > 0)
        #expect(try #require(video.framesReceived) >= viewer.video.count)
        #expect(try #require(video.pliCount) >= 1)
        let remote = try #require(report.remoteOutbound.first { $0.localId == video.id })
        #expect(remote.packetsSent > 200)
        let now = Double(VirtualNetwork.clock.wallTime(at: network.now).millisecondsSinceEpoch)
        #expect(abs(remote.remoteTimestamp - now) < 2_000)
        #expect(abs(video.timestamp - now) < 1)
        // Frames that were not decoded do not count as decoded.
        #expect(video.framesDecoded == nil && video.frameWidth == nil)
    }

    @Test(
        "the statistics of a stream contain the format of its video, which its key frames state",
        arguments: [
            (.vp8, "vp8", 640), (.vp9, "vp09.00.10.08", 208), (.av1, "av01.0.00M.08", 208),
            (.h265, "hvc1.1.6.L60.90", 208),
        ] as [(Codec, String, Int)])
    func formats(codec: Codec, text: String, width: Int) throws {
        let publisher = try network.publish(codec)
        #expect(network.run { publisher.isConnected })
        let viewer = try network.view()
        #expect(network.run { viewer.isConnected })
        #expect(network.sfu.figures.first?.video == nil)
        var broadcast = Broadcast(codec)
        broadcast.send(60, from: publisher, by: network)
        let figures = try #require(network.sfu.figures.first)
        let video = try #require(figures.video)
        #expect(video.codec == codec && video.codecString == text && video.dimensions.width == width)
        #expect(figures.dimensions == video.dimensions)
    }

    @Test("as JSON, statistics are objects by ID with W3C's members, without values that were not measured")
    func json() throws {
        let (_, viewer, _) = try playing()
        let report = viewer.connection.stats(at: network.now)
        let data = try JSONEncoder().encode(report)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: [String: Any]])
        #expect(Set(object.keys) == Set(report.all.map(\.id)))
        let video = try #require(
            object.values.first { $0["type"] as? String == "inbound-rtp" && $0["kind"] as? String == "video" })
        #expect(video["ssrc"] is Int && video["packetsReceived"] is Int && video["jitter"] is Double)
        #expect(video["framesDecoded"] == nil)
        #expect(object.values.contains { $0["type"] as? String == "candidate-pair" })
    }
}
