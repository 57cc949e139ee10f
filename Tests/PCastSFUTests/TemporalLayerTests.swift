import PCastCore
import PCastRTP
import Testing

@testable import PCastSFU
@testable import PCastWebRTC

/// The temporal layers of codecs whose payload does not state them.
struct TemporalLayerTests {
    /// The extended fields of a key frame: the structure of the mode `L1T2`, without chains. Its templates are those of a key
    /// frame, of a frame of the lower layer, and of one of the higher layer.
    private static let structure: [UInt8] = [0x80, 0x01, 0x1E, 0xA8, 0x51, 0x40, 0x00]

    /// The layers that are in the log after frames of H.264 with the given templates, and whether they have descriptors.
    private static func log(_ templates: [UInt8?]) throws -> (layers: [UInt8?], hasDescriptor: [Bool], share: Double) {
        let media = try #require(IngestMedia(video: .h264, hasAudio: false).sections.first)
        var track = PublishedTrack(.video, media)
        for (number, template) in templates.enumerated() {
            let packet = MediaReceiver.Packet(
                type: .video, layer: 0, sequence: Int64(number), timestamp: UInt32(number) * 3_000,
                sequenceNumber: UInt16(number), marker: true, payload: 12..<112, codec: .h264, isRetransmission: false,
                isRestart: false, forwarded: RTPExtensionValues())
            let payload: [UInt8] = [number == 0 ? 0x65 : 0x41, 0x88] + Array(repeating: 7, count: 98)
            var descriptor: [UInt8] = []
            if let template { descriptor = [0xC0 | template, 0, UInt8(number)] + (number == 0 ? structure : []) }
            payload.withByteView { payload in
                descriptor.withByteView { descriptor in
                    _ = track.append(
                        packet, payload: payload, descriptor: descriptor,
                        at: Instant(nanoseconds: Int64(number) * 33_000_000))
                }
            }
        }
        var layers: [UInt8?] = []
        var hasDescriptor: [Bool] = []
        for position in track.log.start..<track.log.end {
            let entry = track.log[position]
            layers.append(entry.layers.isKnown ? entry.layers.point.temporal : nil)
            hasDescriptor.append(entry.descriptor.exists)
        }
        return (layers, hasDescriptor, track.shares.share(of: OperatingPoint(spatial: 0, temporal: 0)))
    }

    @Test("the temporal layers of H.264 are those of the dependency descriptor, which is not forwarded")
    func temporalLayersOfH264() throws {
        let log = try Self.log([0, 2, 1, 2, 1, 2])
        #expect(log.layers == [0, 1, 0, 1, 0, 1])
        #expect(log.hasDescriptor == Array(repeating: false, count: 6))
        #expect(log.share == 0.5)
    }

    @Test("packets of H.264 without the descriptor have no layers")
    func noDescriptor() throws {
        let log = try Self.log([nil, nil, nil])
        #expect(log.layers == [nil, nil, nil])
        #expect(log.share == 1)
    }
}
