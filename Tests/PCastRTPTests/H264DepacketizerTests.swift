import PCastCore
import PCastRTP
import Testing

@Suite struct H264DepacketizerTests {
    private func depacketize(_ payloads: [[UInt8]]) -> (frame: DepacketizedFrame?, bytes: [UInt8], malformed: Int) {
        var depacketizer = H264Depacketizer()
        var bytes: [UInt8] = []
        for payload in payloads { depacketizer.append(payload.span, to: &bytes) }
        let frame = depacketizer.finish(&bytes)
        return (frame, bytes, depacketizer.malformedUnits)
    }

    @Test("fragments are reassembled into the original unit")
    func reassembly() {
        let (frame, bytes, _) = depacketize([[0x7C, 0x85, 1, 2], [0x7C, 0x05, 3], [0x7C, 0x45, 4]])
        #expect(bytes == [0, 0, 0, 1, 0x65, 1, 2, 3, 4])
        #expect(frame == DepacketizedFrame(isKeyFrame: false, hasSlice: true))
    }

    @Test("malformed payloads are counted and drop their unit, and the frame is not decoded")
    func malformedPayloads() {
        let good: [UInt8] = [0x41, 0x9A]
        let cases: [(name: String, payload: [UInt8], malformed: Int, kept: [UInt8])] = [
            ("FU-A with start and end", [0x7C, 0xC1, 1], 1, []),
            ("FU-A without data", [0x7C, 0x81], 1, []),
            ("FU-A header alone", [0x7C], 1, []),
            ("FU-A of an aggregate", [0x7C, 0x98, 1], 1, []),
            ("FU-A without start", [0x7C, 0x01, 1], 1, []),
            ("FU-A that never ends", [0x7C, 0x81, 1], 1, []),
            ("STAP-A without entries", [0x78], 1, []),
            ("STAP-A with an empty entry", [0x78, 0, 0, 0, 1, 0x06], 1, [0, 0, 0, 1, 0x06]),
            ("STAP-A with an entry too long", [0x78, 0, 1, 0x06, 0, 9, 0x41], 1, [0, 0, 0, 1, 0x06]),
            ("STAP-A with half a length", [0x78, 0, 1, 0x06, 0], 1, [0, 0, 0, 1, 0x06]),
            ("STAP-A within STAP-A", [0x78, 0, 4, 0x78, 0, 1, 0x41], 1, []),
            ("FU-A within STAP-A", [0x78, 0, 3, 0x7C, 0x81, 1], 1, []),
            ("STAP-B", [0x79, 0, 0, 0, 1, 0x41], 1, []),
            ("MTAP16", [0x7A, 0, 0, 0, 1], 1, []),
            ("FU-B", [0x7D, 0x81, 0, 0, 1], 1, []),
            ("type 0", [0x60, 1], 1, []),
            ("type 30", [0x7E, 1], 1, []),
        ]
        for (name, payload, malformed, kept) in cases {
            let result = depacketize([good, payload])
            #expect(result.frame == nil, "\(name)")
            #expect(result.malformed == malformed, "\(name)")
            #expect(result.bytes == [0, 0, 0, 1, 0x41, 0x9A] + kept, "\(name)")
        }
    }

    @Test("a unit whose fragments are interrupted is dropped completely")
    func interruptedFragments() {
        let byUnit = depacketize([[0x7C, 0x81, 1], [0x41, 0x9A], [0x7C, 0x41, 2]])
        #expect(byUnit.frame == nil)
        #expect(byUnit.bytes == [0, 0, 0, 1, 0x41, 0x9A])
        let byStart = depacketize([[0x7C, 0x81, 1], [0x7C, 0x81, 2], [0x7C, 0x41, 3]])
        #expect(byStart.bytes == [0, 0, 0, 1, 0x61, 2, 3])
        #expect(byStart.malformed == 1)
        let byType = depacketize([[0x7C, 0x81, 1], [0x7C, 0x45, 2]])
        #expect(byType.bytes == [])
        #expect(byType.malformed == 1)
    }

    @Test("a gap drops the unit in which it occurs, and the next frame is complete again")
    func gapDropsUnit() {
        var depacketizer = H264Depacketizer()
        var bytes: [UInt8] = []
        depacketizer.append([0x06, 5].span, to: &bytes)
        depacketizer.append([0x7C, 0x81, 1].span, to: &bytes)
        depacketizer.packetsLost(from: &bytes)
        depacketizer.append([0x7C, 0x41, 3].span, to: &bytes)
        #expect(bytes == [0, 0, 0, 1, 0x06, 5])
        #expect(depacketizer.finish(&bytes) == nil)
        bytes = []
        depacketizer.append([0x41, 0x9A].span, to: &bytes)
        #expect(depacketizer.finish(&bytes) == DepacketizedFrame(isKeyFrame: false, hasSlice: true))
    }

    @Test("an IDR picture without parameter sets receives those sent before")
    func insertsEarlierParameterSets() {
        let (sps, pps) = (H264Fixtures.sequenceParameterSet, H264Fixtures.pictureParameterSet)
        var depacketizer = H264Depacketizer()
        var bytes: [UInt8] = []
        let aggregate = [0x78, 0, UInt8(sps.count)] + sps + [0, UInt8(pps.count)] + pps
        depacketizer.append(aggregate.span, to: &bytes)
        #expect(depacketizer.finish(&bytes) == DepacketizedFrame(isKeyFrame: false, hasSlice: false))
        #expect(depacketizer.hasParameterSets)
        bytes = []
        depacketizer.append([0x65, 0x88].span, to: &bytes)
        #expect(depacketizer.finish(&bytes) == DepacketizedFrame(isKeyFrame: true, hasSlice: true))
        #expect(bytes == H264Fixtures.annexB([sps, pps, [0x65, 0x88]]))
        // The unit follows a delimiter, which begins an access unit.
        bytes = []
        depacketizer.append([0x09, 0xF0].span, to: &bytes)
        depacketizer.append([0x65, 0x88].span, to: &bytes)
        #expect(depacketizer.finish(&bytes)?.isKeyFrame == true)
        #expect(bytes == H264Fixtures.annexB([[0x09, 0xF0], sps, pps, [0x65, 0x88]]))
    }

    @Test("parameter sets before a frame that refers to others make no key frame")
    func setsBeforeDelta() {
        let (sps, pps) = (H264Fixtures.sequenceParameterSet, H264Fixtures.pictureParameterSet)
        #expect(depacketize([sps, pps, [0x41, 0x9A]]).frame == DepacketizedFrame(isKeyFrame: false, hasSlice: true))
    }

    @Test("a picture parameter set before its sequence parameter set is repeated after it")
    func wrongOrder() {
        let (sps, pps) = (H264Fixtures.sequenceParameterSet, H264Fixtures.pictureParameterSet)
        let result = depacketize([pps, sps, [0x65, 0x88]])
        #expect(result.frame?.isKeyFrame == true)
        #expect(result.bytes == H264Fixtures.annexB([sps, pps, pps, sps, [0x65, 0x88]]))
    }

    @Test("parameter sets of two IDs, one of them fragmented and later replaced, are all delivered")
    func severalIDs() {
        let (sps, pps) = (H264Fixtures.sequenceParameterSet, H264Fixtures.pictureParameterSet)
        let other: [UInt8] = [0x68, 0x5B, 0x83]
        let changed: [UInt8] = [0x68, 0x5B, 0x84]
        var depacketizer = H264Depacketizer()
        var bytes: [UInt8] = []
        for unit in [[0x7C, 0x87] + sps[1..<9], [0x7C, 0x47] + sps[9...], pps, other, changed] {
            depacketizer.append(unit.span, to: &bytes)
        }
        #expect(depacketizer.finish(&bytes)?.hasSlice == false)
        bytes = []
        depacketizer.append([0x65, 0x88].span, to: &bytes)
        #expect(depacketizer.finish(&bytes)?.isKeyFrame == true)
        #expect(bytes == H264Fixtures.annexB([sps, pps, changed, [0x65, 0x88]]))
    }

    @Test("an IDR picture before any parameter set is not a key frame")
    func idrBeforeParameterSets() {
        #expect(depacketize([[0x65, 0x88]]).frame == DepacketizedFrame(isKeyFrame: false, hasSlice: true))
    }

    @Test("no mutated payload traps")
    func mutations() {
        var random = PayloadRandom(seed: 9)
        let unit = H264Fixtures.accessUnit(key: true, size: 300, using: &random)
        let payloads = H264Fixtures.payloads(of: .h264, unit, maximumPayloadSize: 100).map(\.bytes)
        for round in 0..<3000 {
            var mutated = payloads
            let place = round % mutated.count
            if round & 1 == 0 {
                mutated[place] = Array(mutated[place].prefix(round / 7 % (mutated[place].count + 1)))
            } else {
                let index = Int.random(in: 0..<min(8, mutated[place].count), using: &random)
                mutated[place][index] = UInt8.random(in: 0...255, using: &random)
            }
            let result = depacketize(mutated)
            #expect(result.bytes.count <= unit.count + 8 * 100)
            for payload in mutated {
                _ = KeyFrameDetector.inspect(codec: .h264, payload: payload.span)
                _ = KeyFrameDetector.video(codec: .h264, payload: payload.span)
            }
        }
    }
}
