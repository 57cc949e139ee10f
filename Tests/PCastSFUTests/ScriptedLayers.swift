import PCastCore
import PCastRTP
import PCastSFU
import Testing

@testable import PCastWebRTC

/// Three layers of one video from a scripted publisher.
///
/// Each frame is one VP8 packet. Each layer has its own sequence numbers, timestamps, frame sizes and picture IDs (RFC
/// 7741).
struct ScriptedLayers {
    struct Layer {
        let rid: String
        let ssrc: UInt32
        /// The width of the frames, as stated in key frames.
        let width: UInt16
        let frameSize: Int
        var sequence: UInt16
        var timestampOffset: UInt32
        var pictureID: UInt16
        var tl0PictureIndex: UInt8
        var isSent = true
        /// Whether sender reports are sent for the layer.
        var isReported = true
        /// The number of key frames that were requested from the layer's encoder.
        var requestsSeen = 0
        var wantsKeyFrame = true
    }

    /// The contents of a frame's bytes.
    struct Frame: Hashable {
        let layer: UInt8
        let number: UInt32
        let isKeyFrame: Bool
    }

    static let rids = ["l", "m", "h"]
    static let interval = TimeSpan.milliseconds(40)

    var layers: [Layer]
    private(set) var count: UInt32 = 0

    init() {
        layers = [
            Layer(
                rid: "l", ssrc: 10, width: 320, frameSize: 250, sequence: 100, timestampOffset: 5_000, pictureID: 300,
                tl0PictureIndex: 7),
            Layer(
                rid: "m", ssrc: 20, width: 640, frameSize: 600, sequence: 60_000, timestampOffset: 0xFFFF_F000,
                pictureID: 0x7FF0, tl0PictureIndex: 250),
            Layer(
                rid: "h", ssrc: 30, width: 1280, frameSize: 1_150, sequence: 7_000, timestampOffset: 1_000_000,
                pictureID: 12, tl0PictureIndex: 100),
        ]
    }

    /// Sends frames in all layers, each layer with the key frames that were requested.
    mutating func send(_ videoFrames: Int, from peer: ScriptedPeer, by network: VirtualNetwork) {
        for _ in 0..<videoFrames {
            for index in layers.indices { say(index, from: peer) }
            if count % 12 == 0 { report(from: peer, by: network) }
            count += 1
            network.deliverAll(peer)
            network.run(for: Self.interval)
            followRequests(peer)
        }
    }

    private mutating func followRequests(_ peer: ScriptedPeer) {
        for index in layers.indices {
            let ssrc = layers[index].ssrc
            let requests = peer.hears { if case .pictureLossIndication(_, ssrc) = $0 { true } else { false } }
            if requests > layers[index].requestsSeen { layers[index].wantsKeyFrame = true }
            layers[index].requestsSeen = requests
        }
    }

    /// Returns the time of a frame since the first one, in ticks.
    private static func ticks(_ number: UInt32) -> UInt32 { number &* 3_600 }

    private mutating func say(_ index: Int, from peer: ScriptedPeer) {
        guard layers[index].isSent else { return }
        let layer = layers[index]
        var descriptor = VP8PayloadDescriptor()
        descriptor.startsPartition = true
        descriptor.pictureID = VPXPictureID(layer.pictureID, width: .long)
        descriptor.tl0PictureIndex = layer.tl0PictureIndex
        descriptor.temporalID = 0
        var head = [UInt8](repeating: 0, count: VP8PayloadDescriptor.maximumSize)
        let size = head.withMutableByteView { descriptor.write(into: $0) }
        let frame = Self.bytes(
            Frame(layer: UInt8(index), number: count, isKeyFrame: layer.wantsKeyFrame), width: layer.width,
            size: layer.frameSize)
        peer.say(
            .video, sequence: layer.sequence, timestamp: Self.ticks(count) &+ layer.timestampOffset,
            payload: Array(head.prefix(size)) + frame, ssrc: layer.ssrc, rid: layer.rid)
        layers[index].wantsKeyFrame = false
        layers[index].sequence &+= 1
        layers[index].pictureID = (layer.pictureID + 1) & 0x7FFF
        layers[index].tl0PictureIndex &+= 1
    }

    /// Sends reports by a clock that is an hour ahead.
    private func report(from peer: ScriptedPeer, by network: VirtualNetwork) {
        let wall = VirtualNetwork.clock.wallTime(at: network.now) + .seconds(3_600 as Int64)
        for layer in layers where layer.isReported && layer.isSent {
            peer.report { writer in
                writer.senderReport(
                    SenderInformation(
                        ssrc: layer.ssrc, ntpTimestamp: wall.ntpTimestamp,
                        rtpTimestamp: Self.ticks(count) &+ layer.timestampOffset, packetCount: 1, octetCount: 1))
            }
        }
    }

    private static func bytes(_ frame: Frame, width: UInt16, size: Int) -> [UInt8] {
        let low = UInt8(truncatingIfNeeded: width)
        let high = UInt8(truncatingIfNeeded: width >> 8)
        let start: [UInt8] =
            frame.isKeyFrame ? [0x10, 2, 0, 0x9D, 1, 0x2A, low, high, 0xE0, 1] : [0x11, 2, 0, 0, 0, 0, 0, 0, 0, 0]
        let received = start + [frame.layer] + withUnsafeBytes(of: frame.number.bigEndian) { Array($0) }
        return received + [UInt8](repeating: 7, count: size - received.count)
    }

    /// A packet that a viewer received, with its numbers.
    struct Seen {
        let frame: Frame
        let sequence: UInt16
        let timestamp: UInt32
        let pictureID: UInt16
        let tl0PictureIndex: UInt8

        init?(_ packet: ScriptedPeer.Packet) {
            guard let descriptor = VP8PayloadDescriptor.parse(packet.payload.span) else { return nil }
            let frame = packet.payload.dropFirst(descriptor.size)
            guard frame.count > 15 else { return nil }
            let received = Array(frame.dropFirst(10).prefix(5))
            self.frame = Frame(
                layer: received[0], number: received.dropFirst().reduce(0) { $0 << 8 | UInt32($1) },
                isKeyFrame: frame[frame.startIndex] & 1 == 0)
            sequence = packet.header.sequenceNumber
            timestamp = packet.header.timestamp
            pictureID = descriptor.pictureID?.value ?? 0
            tl0PictureIndex = descriptor.tl0PictureIndex ?? 0
        }
    }
}

/// Two layers of one H.264 video from a scripted publisher, `l` and `h`. The last byte of each packet is the number of
/// its layer.
struct ScriptedH264Layers {
    let publisher: ScriptedPeer
    let network: VirtualNetwork
    private var sequences: [UInt16] = [100, 200]
    private var count: UInt32 = 0

    init() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(.h264, layers: ["l", "h"])
        #expect(network.run { publisher.isConnected })
        (self.network, self.publisher) = (network, publisher)
    }

    /// Returns the end of a packet.
    static func filling(_ layer: Int) -> [UInt8] {
        [UInt8](repeating: 7, count: layer == 0 ? 100 : 900) + [UInt8(layer)]
    }

    /// Returns the packet of an IDR picture.
    static func idr(_ layer: Int) -> [UInt8] { [0x65, 0x88, 0x84] + filling(layer) }

    /// Returns the packets of a frame that is not a key frame.
    static func frame(_ layer: Int) -> [[UInt8]] { [[0x41, 0x9A] + filling(layer)] }

    /// Sends one frame in each layer, and a sender report for it.
    mutating func send(_ packets: (Int) -> [[UInt8]]) {
        for layer in 0..<2 {
            let payloads = packets(layer)
            for (index, payload) in payloads.enumerated() {
                publisher.say(
                    .video, sequence: sequences[layer], timestamp: count * 3_600, payload: payload,
                    marker: index == payloads.count - 1, ssrc: UInt32(10 + layer), rid: ["l", "h"][layer])
                sequences[layer] &+= 1
            }
        }
        let wall = VirtualNetwork.clock.wallTime(at: network.now)
        for layer in 0..<2 {
            let report = SenderInformation(
                ssrc: UInt32(10 + layer), ntpTimestamp: wall.ntpTimestamp, rtpTimestamp: count * 3_600,
                packetCount: 1, octetCount: 1)
            publisher.report { $0.senderReport(report) }
        }
        count += 1
        network.deliverAll(publisher)
        network.run(for: .milliseconds(40))
    }

    /// Returns a viewer that receives the layer `h` and has requested the layer `l`. `keyFrame` returns the packets of
    /// a key frame, with which `h` begins.
    mutating func viewerSwitchingDown(_ keyFrame: (Int) -> [[UInt8]]) throws -> ScriptedPeer {
        let viewer = try network.scriptViewer()
        #expect(network.run { viewer.isConnected })
        try network.sfu.pin(viewer.id, layer: "h", at: network.now)
        send(keyFrame)
        for _ in 0..<25 { send(Self.frame) }
        #expect(viewer.packets.last?.payload.last == 1)
        try network.sfu.pin(viewer.id, layer: "l", at: network.now)
        network.settleRelay()
        return viewer
    }
}

extension ScriptedPeer {
    /// The video packets that arrived.
    var seen: [ScriptedLayers.Seen] {
        packets(media(.video).remoteSources.first?.ssrc).compactMap { ScriptedLayers.Seen($0) }
    }

    /// Reports the bit rate of this viewer's link to the SFU, as a viewer without arrival reports does (REMB).
    func allow(_ kilobits: Int64, by network: VirtualNetwork) {
        report { writer in
            writer.receiverReport(ssrc: 1)
            writer.receiverEstimatedBitrate(
                senderSSRC: 1, bitrate: .kilobits(kilobits), ssrcs: [UInt32(0)].span)
        }
        network.deliverAll(self)
    }
}

extension VirtualNetwork {
    func layers(viewedBy peer: ScriptedPeer) -> ViewedLayers? { sfu.layers(viewedBy: peer.id) }

    func layers(viewedBy peer: CallPeer) -> ViewedLayers? { sfu.layers(viewedBy: peer.id) }
}
