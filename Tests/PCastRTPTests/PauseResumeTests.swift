import PCastCore
import PCastRTP
import Testing

/// The messages of RFC 7728, byte for byte by the figures of its section 7.
@Suite struct PauseResumeTests {
    private func write(_ messages: PauseResume.Message...) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 200) { buffer, count in
            var writer = RTCPWriter(MutableByteView(buffer))
            for message in messages { writer.pauseResume(senderSSRC: 0x0102_0304, message) }
            count = writer.count
        }
    }

    private func read(_ bytes: [UInt8]) -> [PauseResume.Message] {
        var messages: [PauseResume.Message] = []
        var packets = RTCPReader()
        while case .pauseResume(let packet)? = packets.next(in: bytes.span) {
            var reader = PauseResume.Reader(packet)
            while let message = reader.next(in: bytes.span) { messages.append(message) }
        }
        return messages
    }

    /// Returns the header of a packet whose messages have this many words.
    private func head(words: UInt8) -> [UInt8] { [0x89, 205, 0, 2 + words, 1, 2, 3, 4, 0, 0, 0, 0] }

    @Test(
        "a request and a refusal have twenty bytes: the stream, the type in four bits, no parameters, the PauseID",
        arguments: zip([PauseResume.Kind.pause, .resume, .refused], [0x00, 0x10, 0x30] as [UInt8]))
    func requests(kind: PauseResume.Kind, type: UInt8) {
        let message = PauseResume.Message(ssrc: 0x0A0B_0C0D, kind: kind, pauseID: 0xFEDC)
        let bytes = write(message)
        #expect(bytes == head(words: 2) + [0x0A, 0x0B, 0x0C, 0x0D, type, 0, 0xFE, 0xDC])
        #expect(read(bytes) == [message])
    }

    @Test("a paused stream is reported with the number of its last packet, in one word of parameters")
    func paused() {
        let message = PauseResume.Message(ssrc: 7, kind: .paused(lastSequenceNumber: 0x0001_FFFE), pauseID: 3)
        let bytes = write(message)
        #expect(bytes == head(words: 3) + [0, 0, 0, 7, 0x20, 1, 0, 3, 0, 1, 0xFF, 0xFE])
        #expect(read(bytes) == [message])
    }

    @Test("each message of a packet is parsed, and unknown parameters are skipped")
    func several() {
        let bytes: [UInt8] =
            head(words: 8) + [0, 0, 0, 1, 0x0F, 1, 0, 9, 0xEE, 0xEE, 0xEE, 0xEE]
            + [0, 0, 0, 2, 0x20, 2, 0, 8, 0, 0, 0, 5, 0xEE, 0xEE, 0xEE, 0xEE] + [0, 0, 0, 3]
        #expect(
            read(bytes) == [
                PauseResume.Message(ssrc: 1, kind: .pause, pauseID: 9),
                PauseResume.Message(ssrc: 2, kind: .paused(lastSequenceNumber: 5), pauseID: 8),
            ])
    }

    @Test("unknown types, and an indication without its number, are skipped, and the rest is parsed")
    func unknownTypes() {
        for type in UInt8(4)...15 {
            let bytes = head(words: 5) + [0, 0, 0, 1, type << 4, 1, 0, 0, 1, 1, 1, 1] + [0, 0, 0, 2, 0x10, 0, 0, 4]
            #expect(read(bytes) == [PauseResume.Message(ssrc: 2, kind: .resume, pauseID: 4)])
        }
        let bytes = head(words: 4) + [0, 0, 0, 1, 0x20, 0, 0, 0] + [0, 0, 0, 2, 0x30, 0, 0, 4]
        #expect(read(bytes) == [PauseResume.Message(ssrc: 2, kind: .refused, pauseID: 4)])
    }

    @Test("a message beyond its packet's end is invalid")
    func overlong() {
        let next: [UInt8] = [0x81, 203, 0, 1, 0, 0, 0, 1]
        #expect(read(head(words: 2) + [0, 0, 0, 1, 0, 1, 0, 0] + next).isEmpty)
        #expect(read(head(words: 2) + [0, 0, 0, 1, 0x20, 255, 0, 0] + next).isEmpty)
        #expect(read(head(words: 0)).isEmpty)
    }
}
