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

@Suite("Assignment of paths to peers")
struct PathIndexTests {
    private var index = PathIndex()
    private let paths = (1...4).map { number in
        NetworkPath(local: TransportAddress("127.0.0.1:9")!, remote: TransportAddress("192.0.2.\(number):5000")!)
    }

    init() { for (number, path) in paths.prefix(3).enumerated() { index[path] = .viewer(number) } }

    private mutating func expect(_ wanted: [NetworkPath]) -> [PeerIndex] {
        var known: [PeerIndex] = []
        wanted.withUnsafeBufferPointer { index.expect(from: Span(_unsafeElements: $0)) { known.append($0) } }
        return known
    }

    @Test("expected paths are reported, and found in any order and any number of times")
    mutating func order() {
        #expect(expect(paths) == [.viewer(0), .viewer(1), .viewer(2)])
        for number in [1, 1, 0, 2, 2] { #expect(index.findPeer(of: paths[number]) == .viewer(number)) }
        #expect(index.findPeer(of: paths[3]) == nil)
        #expect(expect([]) == [])
        #expect(index.findPeer(of: paths[0]) == .viewer(0))
    }

    @Test("changes after `expect` are effective: another peer, no peer, and a new path")
    mutating func changes() {
        #expect(expect(paths).count == 3)
        index[paths[0]] = .publisher(7)
        #expect(index.findPeer(of: paths[0]) == .publisher(7))
        #expect(expect(paths).count == 3)
        #expect(index.removeValue(forKey: paths[1]) == .viewer(1))
        #expect(index.findPeer(of: paths[1]) == nil)
        #expect(expect(paths).count == 2)
        index[paths[2]] = nil
        index[paths[3]] = .viewer(9)
        #expect(index.findPeer(of: paths[2]) == nil && index.findPeer(of: paths[3]) == .viewer(9))
        // A path that was expected and not used has no effect on the next lookups.
        #expect(expect([paths[3]]) == [.viewer(9)])
        #expect(index.findPeer(of: paths[0]) == .publisher(7))
    }

    @Test("paths that differ in local address or transport are different")
    mutating func kinds() {
        var other = paths[0]
        other.local.port = 10
        var stream = paths[0]
        stream.transport = .tcp(connection: 1)
        index[other] = .viewer(20)
        index[stream] = .viewer(21)
        #expect(expect([stream, paths[0], other]) == [.viewer(21), .viewer(0), .viewer(20)])
        #expect(index.findPeer(of: other) == .viewer(20))
        #expect(index.findPeer(of: paths[0]) == .viewer(0))
        #expect(index.findPeer(of: stream) == .viewer(21))
    }
}
