import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// A path with an MTU of 1280 bytes, the minimum of IPv6, which leaves 1232 bytes of UDP payload.
///
/// Datagrams that are never larger need no path MTU discovery, so the sockets keep the kernel's setting of
/// `IP_MTU_DISCOVER`. The SFU's own datagrams are never fragmented. Larger packets of another vendor's publisher may
/// be.
struct PathSizeTests {
    private static let limit = 1232

    @Test(
        "handshakes, media, retransmissions and reports fit into every path",
        arguments: [Codec.h264, .vp8])
    func everything(codec: Codec) throws {
        let network = VirtualNetwork(seed: 3)
        network.link.loss = 2
        var sizes: [Int] = []
        var largest: [String: Int] = [:]
        func note(_ bytes: [UInt8], _ way: String) {
            sizes.append(bytes.count)
            let key = "\(way) \(DatagramKind(bytes.span))"
            largest[key] = max(largest[key] ?? 0, bytes.count)
        }
        network.onSending = { bytes, _ in note(bytes, "relay") }
        network.onPeerSending = { bytes, _, _ in note(bytes, "peer") }
        let publisher = try network.publish(codec)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(codec, keyFrameInterval: 25)
        broadcast.videoFrames.keyFrameSize = 60_000
        broadcast.videoFrames.frameSize = 9_000
        broadcast.send(250, from: publisher, by: network)
        #expect(viewer.video.count > 100)
        #expect(sizes.allSatisfy { $0 <= Self.limit }, "\(largest)")
        for kind in ["relay rtp", "peer rtp", "relay dtls", "peer dtls"] { #expect(largest[kind] ?? 0 > 0) }
    }

    @Test("packets of browsers that nearly reach the limit are forwarded and retransmitted within it")
    func browsers() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewer = try network.view()
        let other = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected && other.isConnected })
        var largest = 0
        var sent = 0
        network.onSending = { bytes, path in
            guard DatagramKind(bytes.span) == .rtp, viewer.addresses.contains(path.remote) else { return }
            largest = max(largest, bytes.count)
            sent += 1
        }
        network.link.loss = 0
        viewer.link.loss = 20
        // libwebrtc fills packets of 1200 bytes without the tag (`kVideoMtu`), of which twelve are the header.
        for number in 0..<300 as Range<UInt16> {
            let begin: [UInt8] =
                number == 0 ? [0x10, 0x10, 0, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01] : [0x10, 0x11, 0, 0]
            let payload = begin + [UInt8](repeating: 7, count: 1170 - begin.count)
            publisher.say(.video, sequence: 1 + number, timestamp: 3000 * UInt32(number), payload: payload)
            network.deliverAll(publisher)
            network.run(for: .milliseconds(20))
        }
        #expect(sent > 300, "some packets were retransmitted")
        #expect(largest > 1200 && largest <= Self.limit, "\(largest)")
    }
}
