import PCastCore
import PCastRTP
import Testing

@testable import PCastWebRTC

struct MediaReceiverTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    /// Returns the sections of a publisher whose audio, its last section, has no transport-wide sequence numbers, as
    /// with Firefox, and uses their ID for another extension.
    private static func sections() throws -> [NegotiatedMedia] {
        var generator = SystemRandomNumberGenerator()
        let offer = Offer(
            sections: [
                OfferSection(type: .video, direction: .sendOnly, codecs: [.vp8], source: .video),
                OfferSection(type: .audio, direction: .sendOnly, source: .audio),
            ], originSessionID: generator.next() >> 1, transport: .client, capabilities: MediaCapabilities())
        var description = offer.description
        let transportID = try #require(
            description.media[0].extensions.first { $0.uri.hasSuffix("transport-wide-cc-extensions-01") }?.id)
        description.media[1].extensions = [ExtensionMapping(id: transportID, uri: audioLevelURI)]
        let answer = try Answer(
            to: description, originSessionID: 77, transport: .test, capabilities: MediaCapabilities()
        ) { _, _ in .receive }
        return answer.session.media
    }

    private static let audioLevelURI = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"

    private static func packet(
        _ media: NegotiatedMedia, payloadType: UInt8? = nil, _ values: RTPExtensionValues
    ) -> [UInt8] {
        let header = RTPHeader(
            payloadType: payloadType ?? media.payloadType, sequenceNumber: 1, timestamp: 2,
            ssrc: media.type == .video ? 1_000 : 2_000)
        var bytes = [UInt8](repeating: 0, count: 200)
        let size = bytes.withMutableByteView { room in
            header.write(into: room, extensions: values, map: media.extensionMap).size
        }
        return Array(bytes.prefix(size + 10))
    }

    private static func receive(_ packet: [UInt8], _ receiver: inout MediaReceiver) -> MediaReceiver.Packet? {
        packet.withByteView { receiver.receive($0, at: start) }
    }

    @Test("extension IDs of one section do not apply to another")
    func idsBelongToSections() throws {
        let media = try Self.sections()
        #expect(media.map(\.type) == [.video, .audio])
        #expect(media[0].extensionMap.id(of: .transportSequenceNumber) == media[1].extensionMap.id(of: .audioLevel))
        var receiver = MediaReceiver(media, reporterSSRC: 9, cname: "c", measuresRoundTrip: false)
        var values = RTPExtensionValues()
        values.audioLevel = AudioLevel(rawValue: 30)
        let audio = Self.receive(Self.packet(media[1], values), &receiver)
        #expect(audio?.forwarded.audioLevel == AudioLevel(rawValue: 30))
        // The only deadline is the report a second later.
        #expect(receiver.deadline == Self.start + .seconds(1 as Int64))

        values.transportSequenceNumber = 5
        let frame = Self.receive(Self.packet(media[0], values), &receiver)
        #expect(frame != nil && frame?.forwarded.audioLevel == nil)
        #expect(receiver.deadline == Self.start + .milliseconds(100))
    }

    @Test("a probe of an unknown payload type counts by its transport-wide sequence number")
    func countsProbes() throws {
        let media = try Self.sections()
        var receiver = MediaReceiver(media, reporterSSRC: 9, cname: "c", measuresRoundTrip: false)
        var values = RTPExtensionValues()
        values.transportSequenceNumber = 5
        #expect(Self.receive(Self.packet(media[0], payloadType: 127, values), &receiver) == nil)
        #expect(receiver.refused == 1)
        #expect(receiver.deadline == Self.start + .milliseconds(100))
    }
}
