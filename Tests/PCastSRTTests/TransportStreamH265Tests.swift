import PCastCore
import PCastRTMP
import PCastSRT
import PCastTestSupport
import Testing

/// H.265 in MPEG-TS.
@Suite("H.265 in MPEG transport streams")
struct TransportStreamH265Tests {
    private typealias Builder = TransportStreamBuilder

    private func events(_ bytes: [UInt8], size: Int = 1_316) -> [RTMPServerEvent] {
        var demuxer = TransportStreamDemuxer()
        var events: [RTMPServerEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            demuxer.receive(bytes.span.extracting(start..<min(start + size, bytes.count))) { events.append($0) }
        }
        demuxer.finish { events.append($0) }
        return events
    }

    private func units(_ events: [RTMPServerEvent]) -> [RTMPAccessUnit] {
        events.compactMap { if case .accessUnit(let unit) = $0 { unit } else { nil } }
    }

    private func configurations(_ events: [RTMPServerEvent]) -> [HEVCDecoderConfiguration] {
        events.compactMap { if case .configuration(_, .hevc(let configuration)) = $0 { configuration } else { nil } }
    }

    private func warnings(_ events: [RTMPServerEvent]) -> [RTMPWarning] {
        events.compactMap { if case .warning(let warning) = $0 { warning } else { nil } }
    }

    /// The types of the NAL units of an access unit.
    private func types(_ unit: RTMPAccessUnit) -> [UInt8] {
        unit.bytes.withByteView { view in
            var reader = AnnexBReader(view)
            var types: [UInt8] = []
            while let unit = reader.nextUnit() { types.append(HEVCUnit.type(unit[0])) }
            return types
        }
    }

    /// ffmpeg 9 with libx265: six frames of 64x48 with delimiters, and a key frame each four frames.
    private static let ffmpeg = Base64.decode(
        """
        R0AREABC8CUAAcEAAP8B/wAB/IAUSBIBBkZGbXBlZwlTZXJ2aWNlMDF3fEPK//////////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        //////////////////////////////9HQAAQAACwDQABwQAAAAHwACqxBLL///////////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        /////////////////////////////////////////////////////////////0dQABAAArAYAAHBAADhAPAAJOEA8AYFBEhFVkPLngBS//////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        ////////////////////////////////////////////////////////////////////////////////////////////R0EAMAdQAAB7DH4AAA
        AB4AAAgIAFIQAH2GEAAAABRgEQAAAAAUABDAH//wFgAAADAJAAAAMAAAMAHpKAkAAAAAFCAQEBYAAAAwCQAAADAAADAB6gIIMWWSrkyvAWgIAA
        AAMAgAAADIQAAAABRAHBc9CJAAABKAGvBlj8N6Bb4hDKl0iw5ePdu+BQAKOf7BXw3CuMQr4i62lkrPpoX3gnL8eB30YuNdm4AkvSxTIBexF62Q
        kIVosJ8GibRdhHAQAxlQD/////////////////////////////////////////////////////////////////////////////////////////
        ////////////////////////////////////////////////////////////////////////////////////////////////////////////Am
        A2Zdpb59gLHwOoHyM6yJWUrPnuwdT7jd54lIKvBGdo/0dBADKTAP//////////////////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        //////////////////////////AAAB4AAAgIAFIQAH9IEAAAABRgEwAAABAgHQCX4Qxgyw+0G4R0EAM5IQAACJHH4A////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        ///////////////////////////////////////////////////////wAAAeAAAICABSEACRChAAAAAUYBMAAAAQIB0BH/1EMGDJD7QbhHQAAR
        AACwDQABwQAAAAHwACqxBLL///////////////////////////////////////////////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        /////////////////////////0dQABEAArAYAAHBAADhAPAAJOEA8AYFBEhFVkPLngBS//////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        ////////////////////////////////////////////////////////R0EANJEA//////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        ////////////////////////////////////AAAB4AAAgIAFIQAJLMEAAAABRgEwAAABAgHQGJ/9xDAYMkD7QbhHQAASAACwDQABwQAAAAHwAC
        qxBLL/////////////////////////////////////////////////////////////////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        ///////0dQABIAArAYAAHBAADhAPAAJOEA8AYFBEhFVkPLngBS////////////////////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        //////////////////////////////////////R0EANQdQAACXLH4AAAAB4AAAgIAFIQAJSOEAAAABRgEQAAAAAUABDAH//wFgAAADAJAAAAMA
        AAMAHpKAkAAAAAFCAQEBYAAAAwCQAAADAAADAB6gIIMWWSrkyvAWgIAAAAMAgAAADIQAAAABRAHBc9CJAAABKgGsEE1cGWD8N6QMCld0dISxs7
        Dl49157nf/2NWCND/sBFM5Le0vyejvPqzATl+fLd7JNlBqcVg/3PKhdE4s0imagT83uDVHAQA2jwD/////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        //////////////////////////////////////////////CWd6Tv9npjkPcHBEvmA9xx7NvsZGK0Arl71nXNKinBPOFLWyjOt/gEdBADeTAP//
        //////////////////////////////////////////////////////////////////////////////////////////////////////////////
        //////////////////////////////////////////////////////////////////////////////////AAAB4AAAgIAFIQAJZQEAAAABRgEw
        AAABAgHQKX4QxgyQ+0G4
        """.filter { $0 != "\n" })!

    @Test("FFmpeg: H.265 with its parameter sets and times, without delimiters", arguments: [1, 188, 1_316])
    func ffmpeg(size: Int) throws {
        let events = events(Self.ffmpeg, size: size)
        let units = units(events)
        #expect(units.map(\.isKeyFrame) == [true, false, false, false, true, false])
        #expect(units.allSatisfy { $0.codec == .hevc && $0.encodedFrame(captureTime: nil)?.codec == .h265 })
        for unit in units.filter(\.isKeyFrame) {
            let types = types(unit)
            #expect(types.prefix(3) == [32, 33, 34])
            #expect(types.last.map { HEVCUnit.randomAccessPoints.contains($0) } == true)
        }
        #expect(units.allSatisfy { !types($0).contains(HEVCUnit.accessUnitDelimiter) })
        for (unit, next) in zip(units, units.dropFirst()) {
            #expect(next.presentationTime - unit.presentationTime == .milliseconds(40))
        }
        #expect(configurations(events).count == 1 && warnings(events).isEmpty)
    }

    @Test("a key frame without parameter sets receives those before it")
    func missingSets() {
        var builder = Builder()
        builder.program([.hevc])
        builder.media(.hevc, Builder.hevcKeyFrame(), presentation: 0)
        builder.media(.hevc, [0, 0, 1, 0x46, 1, 0x50, 0, 0, 1, 0x2A, 1, 0xAC, 1], presentation: 3_600)
        builder.media(.hevc, [0, 0, 1, 0x02, 1, 0xD0, 1], presentation: 7_200)
        let units = units(events(builder.bytes))
        #expect(units.map(types) == [[32, 33, 34, 19], [32, 33, 34, 21], [1]])
        #expect(units.map(\.isKeyFrame) == [true, true, false])
    }

    @Test("frames before the parameter sets are dropped, and sets may come alone")
    func setsAlone() {
        var builder = Builder()
        builder.program([.hevc])
        builder.media(.hevc, [0, 0, 1, 0x02, 1, 0xD0, 1], presentation: 0)
        builder.media(.hevc, Builder.hevcParameterSets, presentation: 3_600)
        builder.media(.hevc, [0, 0, 1, 0x26, 1, 0xAC, 1], presentation: 7_200)
        let events = events(builder.bytes)
        #expect(units(events).map(types) == [[32, 33, 34, 19]])
        #expect(configurations(events).count == 1 && warnings(events).isEmpty)
    }

    @Test("changed parameter sets are another configuration")
    func changedSets() {
        var builder = Builder()
        builder.program([.hevc])
        builder.media(.hevc, Builder.hevcKeyFrame(), presentation: 0)
        builder.media(.hevc, Builder.hevcKeyFrame(), presentation: 3_600)
        // Only the picture parameter set changes.
        builder.media(
            .hevc, [0, 0, 1, 0x44, 1, 0xC1, 0x73, 0, 0, 1, 0x26, 1, 0xAC, 1], presentation: 7_200)
        let events = events(builder.bytes)
        let configurations = configurations(events)
        #expect(configurations.count == 2 && configurations.first != configurations.last)
        // The known sets come first, so that all three kinds are complete.
        #expect(units(events).last.map(types) == [32, 33, 34, 34, 19])
    }

    @Test("parameter sets beyond the limit are not kept")
    func tooManySets() {
        var builder = Builder()
        builder.program([.hevc])
        let large = [0, 0, 1, 0x44, 1] + [UInt8](repeating: 0x55, count: 17 * 1_024)
        builder.media(.hevc, Builder.hevcParameterSets + large, presentation: 0)
        builder.media(.hevc, [0, 0, 1, 0x26, 1, 0xAC, 1], presentation: 3_600)
        let events = events(builder.bytes)
        #expect(configurations(events).isEmpty && units(events).isEmpty)
    }

    @Test("a stream of private data with the registration HEVC is H.265")
    func registration() {
        var builder = Builder()
        let stream = Builder.Stream(pid: 300, type: 0x06, descriptors: [5, 4] + Array("HEVC".utf8))
        builder.program([stream])
        builder.media(stream, Builder.hevcKeyFrame(), presentation: 0, hasLength: true)
        let units = units(events(builder.bytes))
        #expect(units.count == 1 && units.first?.codec == .hevc && units.first?.isKeyFrame == true)
    }

    @Test("packets without NAL units are malformed, and units without contents are left out")
    func malformed() {
        var builder = Builder()
        builder.program([.hevc])
        builder.media(.hevc, Builder.hevcKeyFrame(), presentation: 0)
        builder.media(.hevc, [1, 2, 3], presentation: 3_600)
        builder.media(.hevc, [0, 0, 1, 0x40, 1, 0, 0, 1, 0x60, 1, 7, 0, 0, 1, 0x02, 1, 0xD0, 1], presentation: 7_200)
        let events = events(builder.bytes)
        #expect(warnings(events) == [.malformedFrame(RTMPTrackID(.video))])
        // The type 48 is one of RTP, and not of H.265.
        #expect(units(events).map(types) == [[32, 33, 34, 19], [1]])
    }
}
