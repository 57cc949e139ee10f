import PCastCore
import PCastHLS
import Testing

@Suite("Rules for the playlists of a server")
struct PlaylistRulesTests {
    /// Returns a valid low-latency playlist of twelve segments with two parts each, the last three of which are listed,
    /// and an open segment with one part.
    static func valid(_ change: (inout MediaPlaylist) -> Void = { _ in }) -> MediaPlaylist {
        func part(_ number: Int64, _ index: Int) -> PartialSegment {
            PartialSegment(uri: "s\(number).\(index).m4s", duration: .seconds(1 as Int64), isIndependent: index == 0)
        }
        let segments = (4..<16).map { number in
            let number = Int64(number)
            return MediaSegment(
                number: number, uri: "s\(number).m4s", duration: .seconds(2 as Int64),
                initialization: MediaInitialization(uri: "init.mp4"), programDateTime: wall(Double(number) * 2),
                parts: number >= 13 ? [part(number, 0), part(number, 1)] : [])
        }
        var playlist = MediaPlaylist(
            version: 9, targetDuration: .seconds(2 as Int64), partTargetDuration: .seconds(1 as Int64),
            mediaSequence: 4, hasIndependentSegments: true,
            serverControl: ServerControl(
                canSkipUntil: .seconds(12 as Int64), holdBack: .seconds(6 as Int64), partHoldBack: .seconds(3 as Int64),
                canBlockReload: true),
            segments: segments,
            openSegment: MediaSegment(
                number: 16, uri: nil, duration: .seconds(1 as Int64),
                initialization: MediaInitialization(uri: "init.mp4"), programDateTime: wall(32), parts: [part(16, 0)]),
            preloadHints: [PreloadHint(.part, uri: "s16.1.m4s")],
            renditionReports: [RenditionReport(uri: "b.m3u8", lastSegment: 16, lastPart: 0)])
        change(&playlist)
        return playlist
    }

    private static func rules(_ violations: [RuleViolation]) -> Set<PlaylistRule> { Set(violations.map(\.rule)) }

    @Test("a valid playlist violates no rule, as a value and as text")
    func validPlaylist() {
        #expect(MediaPlaylistRules.check(Self.valid()) == [])
        #expect(MediaPlaylistRules.check(text: Self.valid().text) == [])
    }

    /// A change that violates one rule.
    struct Planted: Sendable, CustomStringConvertible {
        let rule: PlaylistRule
        let change: @Sendable (inout MediaPlaylist) -> Void
        var description: String { rule.rawValue }
    }

    static let planted: [Planted] = [
        Planted(rule: .segmentExceedsTarget) { $0.segments[1].duration = .milliseconds(2_500) },
        Planted(rule: .segmentWithoutDuration) { $0.segments[1].duration = .zero },
        Planted(rule: .partExceedsTarget) { $0.openSegment?.parts[0].duration = .milliseconds(1_001) },
        Planted(rule: .partTooShort) { playlist in
            playlist.segments[11].parts = (0..<4).map { index in
                PartialSegment(uri: "p\(index).m4s", duration: .milliseconds(500), isIndependent: index == 0)
            }
        },
        Planted(rule: .partsDifferFromSegment) { $0.segments[11].parts.removeLast() },
        Planted(rule: .partHoldBackTooShort) { $0.serverControl.partHoldBack = .milliseconds(2_900) },
        Planted(rule: .partHoldBackMissing) { $0.serverControl.partHoldBack = nil },
        Planted(rule: .holdBackTooShort) { $0.serverControl.holdBack = .seconds(5 as Int64) },
        Planted(rule: .skipBoundaryTooShort) { $0.serverControl.canSkipUntil = .seconds(11 as Int64) },
        Planted(rule: .partsWithoutBlockingReload) { $0.serverControl.canBlockReload = false },
        Planted(rule: .oldPartsListed) { $0.segments[2].parts = $0.segments[11].parts },
        Planted(rule: .programDateTimeMissing) { playlist in
            for index in playlist.segments.indices { playlist.segments[index].programDateTime = nil }
        },
        Planted(rule: .programDateTimeAmbiguous) { $0.segments[3].programDateTime = wall(3) },
        Planted(rule: .initializationMissing) { $0.segments[0].initialization = nil },
        Planted(rule: .initializationWithoutDiscontinuity) {
            $0.segments[5].initialization = MediaInitialization(uri: "other.mp4")
        },
        Planted(rule: .independentSegmentsMissing) { $0.hasIndependentSegments = false },
        Planted(rule: .segmentBeginsWithoutKeyFrame) { $0.segments[11].parts[0].isIndependent = false },
        Planted(rule: .fewSegments) { playlist in
            playlist.segments.removeFirst(8)
            playlist.mediaSequence += 8
        },
        Planted(rule: .preloadHintMissing) { $0.preloadHints = [] },
        Planted(rule: .preloadHintRepeated) { $0.preloadHints += [PreloadHint(.part, uri: "s17.0.m4s")] },
        Planted(rule: .playlistTypeOfLivePlaylist) { $0.kind = .onDemand },
        Planted(rule: .versionTooLow) { $0.version = 8 },
        Planted(rule: .keyOfInitializationWithoutVector) { playlist in
            let key = EncryptionKey(uri: "k")
            for index in playlist.segments.indices { playlist.segments[index].initialization?.keys = [key] }
            playlist.openSegment?.initialization?.keys = [key]
        },
        Planted(rule: .versionTooLow) { playlist in
            playlist.version = 4
            playlist.serverControl.canSkipUntil = nil
            for index in playlist.segments.indices {
                playlist.segments[index].initialization = nil
                playlist.segments[index].keys = [EncryptionKey(uri: "k", keyFormat: "com.example")]
            }
        },
        Planted(rule: .dateRangeWithoutProgramDateTime) { playlist in
            playlist.dateRanges = [DateRange(id: "a", start: wall(20))]
            for index in playlist.segments.indices { playlist.segments[index].programDateTime = nil }
            playlist.openSegment?.programDateTime = nil
        },
        Planted(rule: .dateRangeEndsBeforeStart) {
            $0.dateRanges = [DateRange(id: "a", start: wall(20), end: wall(19))]
        },
        Planted(rule: .dateRangeEndDiffersFromDuration) {
            $0.dateRanges = [DateRange(id: "a", start: wall(20), end: wall(22), duration: seconds(1))]
        },
        Planted(rule: .dateRangeEndOnNextWithoutClass) {
            $0.dateRanges = [DateRange(id: "a", start: wall(20), endsOnNext: true)]
        },
        Planted(rule: .dateRangeEndOnNextWithEnd) {
            $0.dateRanges = [DateRange(id: "a", classID: "c", start: wall(20), duration: seconds(1), endsOnNext: true)]
        },
        Planted(rule: .dateRangesOverlap) {
            $0.dateRanges = [
                DateRange(id: "a", classID: "c", start: wall(20), duration: seconds(5)),
                DateRange(id: "b", classID: "c", start: wall(24), endsOnNext: true),
            ]
        },
    ]

    @Test("a planted violation is found", arguments: planted)
    func findsPlanted(_ planted: Planted) {
        let found = MediaPlaylistRules.check(Self.valid(planted.change))
        #expect(Self.rules(found).contains(planted.rule))
        #expect(found.allSatisfy { $0.description.contains($0.rule.source) && !$0.rule.source.isEmpty })
    }

    @Test("tags that are missing in the text are found")
    func missingTags() {
        let text = Self.valid { $0.segments[2].isDiscontinuity = true }.text
        let lines = text.split(separator: "\n").map { String($0) }
        func without(_ tag: String) -> String { lines.filter { !$0.hasPrefix(tag) }.joined(separator: "\n") }
        #expect(
            Self.rules(MediaPlaylistRules.check(text: without("#EXT-X-DISCONTINUITY-SEQUENCE")))
                .contains(.discontinuitySequenceMissing))
        #expect(MediaPlaylistRules.check(text: "no playlist").count == 1)
    }

    @Test("keys may change, and a tag that ends the encryption has no other attribute")
    func keys() {
        func encrypted(_ change: (inout MediaPlaylist) -> Void = { _ in }) -> MediaPlaylist {
            Self.valid { playlist in
                for index in playlist.segments.indices {
                    playlist.segments[index].keys = [EncryptionKey(uri: "\(index / 5).key")]
                }
                playlist.openSegment?.keys = [EncryptionKey(uri: "3.key")]
                change(&playlist)
            }
        }
        let playlist = encrypted { playlist in
            // An initialization section that is not encrypted follows segments that are.
            playlist.segments[7].isDiscontinuity = true
            for index in 7..<12 {
                playlist.segments[index].initialization = MediaInitialization(uri: "other.mp4")
                playlist.segments[index].discontinuity = 1
            }
            playlist.openSegment?.initialization = MediaInitialization(uri: "other.mp4")
            playlist.openSegment?.discontinuity = 1
        }
        #expect(playlist.text.contains("METHOD=NONE\n#EXT-X-MAP"))
        #expect(MediaPlaylistRules.check(text: playlist.text) == [])
        let broken = playlist.text.replacing("METHOD=NONE\n", with: "METHOD=NONE,URI=\"1.key\"\n")
        #expect(Self.rules(MediaPlaylistRules.check(text: broken)) == [.keyMethodNoneWithAttributes])
        let other = encrypted { $0.segments[3].keys = [EncryptionKey(uri: "other.key")] }
        #expect(Self.rules(MediaPlaylistRules.check(other, after: encrypted())) == [.segmentChanged])
    }

    @Test("date ranges may overlap and get further attributes, but may neither change nor be malformed")
    func dateRanges() {
        let ranges = [
            DateRange(id: "a", classID: "c", start: wall(20), duration: seconds(9)),
            DateRange(
                id: "b", classID: "c", start: wall(24), end: wall(25), duration: seconds(1),
                scte35: [DateRange.SpliceInformation(.out, "0xFC30")]),
        ]
        let valid = Self.valid { $0.dateRanges = ranges }
        #expect(MediaPlaylistRules.check(text: valid.text) == [])
        func rules(_ line: String) -> Set<PlaylistRule> {
            Self.rules(MediaPlaylistRules.check(text: valid.text + line + "\n"))
        }
        #expect(rules("#EXT-X-DATERANGE:ID=\"a\",PLANNED-DURATION=9,X-NEW=\"1\"") == [])
        #expect(rules("#EXT-X-DATERANGE:ID=\"a\",DURATION=8") == [.dateRangeChanged])
        #expect(rules("#EXT-X-DATERANGE:ID=\"x\",CLASS=\"c\"") == [.dateRangeMalformed])
        #expect(rules("#EXT-X-DATERANGE:START-DATE=\"2026-01-01T00:00:24Z\"") == [.dateRangeMalformed])
        let longer = Self.valid { playlist in
            playlist.dateRanges = ranges
            playlist.dateRanges[0].duration = seconds(10)
            playlist.dateRanges[1].scte35.insert(DateRange.SpliceInformation(.back, "0xFC31"), at: 0)
        }
        #expect(Self.rules(MediaPlaylistRules.check(longer, after: valid)) == [.dateRangeChanged])
        #expect(MediaPlaylistRules.check(valid, after: Self.valid()) == [])
        #expect(MediaPlaylistRules.check(Self.valid(), after: valid) == [])
    }

    @Test("violations between two versions are found")
    func versions() {
        let old = Self.valid()
        func rules(_ elapsed: TimeSpan? = nil, _ change: (inout MediaPlaylist) -> Void) -> Set<PlaylistRule> {
            Self.rules(MediaPlaylistRules.check(Self.valid(change), after: old, elapsed: elapsed))
        }
        #expect(rules { _ in }.isEmpty)
        #expect(rules { $0.targetDuration = .seconds(3 as Int64) } == [.targetChanged])
        #expect(rules { $0.partTargetDuration = .milliseconds(1_100) } == [.targetChanged])
        #expect(rules { $0.discontinuitySequence = -1 } == [.sequenceDecreased])
        #expect(rules { $0.segments[4].uri = "other.m4s" } == [.segmentChanged])
        #expect(rules { $0.openSegment?.parts[0].uri = "other.m4s" } == [.segmentChanged])
        #expect(
            rules { playlist in
                playlist.segments.removeFirst(10)
                playlist.mediaSequence += 10
            } == [.segmentRemovedTooEarly])
        let ended = Self.valid { $0.isComplete = true }
        #expect(Self.rules(MediaPlaylistRules.check(old, after: ended)) == [.endRemoved])
        var later = old
        later.segments.append(
            MediaSegment(
                number: 16, uri: "s16.m4s", duration: .seconds(2 as Int64),
                initialization: MediaInitialization(uri: "init.mp4"), programDateTime: wall(32)))
        later.openSegment = nil
        #expect(Self.rules(MediaPlaylistRules.check(later, after: old, elapsed: .seconds(3 as Int64))).isEmpty)
        #expect(
            Self.rules(MediaPlaylistRules.check(later, after: old, elapsed: .milliseconds(3_001))) == [.updateTooLate])
    }

    /// Returns a valid presentation of video and audio.
    private static func presentation() -> (MultivariantPlaylist, [String: MediaPlaylist]) {
        let multivariant = MultivariantPlaylist(
            version: 9, hasIndependentSegments: true,
            variants: [
                VariantStream(
                    uri: "a.m3u8", bandwidth: .kilobits(900), averageBandwidth: .kilobits(800),
                    codecs: ["avc1.42c01f", "mp4a.40.2"], resolution: Dimensions(width: 640, height: 360),
                    framesPerSecond: 30, audio: "aac"),
                VariantStream(
                    uri: "b.m3u8", bandwidth: .kilobits(100), averageBandwidth: .kilobits(100), codecs: ["mp4a.40.2"],
                    audio: "aac"),
            ], renditions: [Rendition(.audio, uri: "b.m3u8", group: "aac", name: "audio")])
        let reported = valid { $0.renditionReports = [RenditionReport(uri: "a.m3u8", lastSegment: 16, lastPart: 0)] }
        return (multivariant, ["a.m3u8": valid(), "b.m3u8": reported])
    }

    @Test("violations of a presentation are found")
    func presentation() {
        let (valid, media) = Self.presentation()
        #expect(PresentationRules.check(valid, media: media) == [])
        func rules(
            _ change: (inout MultivariantPlaylist) -> Void, _ changeAudio: (inout MediaPlaylist) -> Void = { _ in }
        ) -> Set<PlaylistRule> {
            var (multivariant, media) = (valid, media)
            change(&multivariant)
            if var audio = media["b.m3u8"] {
                changeAudio(&audio)
                media["b.m3u8"] = audio
            }
            return Self.rules(PresentationRules.check(multivariant, media: media))
        }
        #expect(rules { $0.variants = [] } == [.variantMissing])
        #expect(rules { $0.variants[0].codecs = [] } == [.codecsMissing])
        #expect(rules { $0.variants[0].resolution = nil }.contains(.resolutionMissing))
        #expect(rules { $0.variants[0].framesPerSecond = nil } == [.frameRateMissing])
        #expect(rules { $0.variants[0].averageBandwidth = nil } == [.averageBandwidthMissing])
        #expect(rules { $0.variants[0].averageBandwidth = .kilobits(901) } == [.bandwidthTooLow])
        #expect(rules { $0.variants[0].codecs[0] = "avc3.42c01f" } == [.parameterSetsInSamples])
        #expect(rules { $0.variants[0].audio = "ac3" } == [.renditionGroupMissing])
        #expect(rules { $0.variants[0].subtitles = "captions" } == [.renditionGroupMissing])
        #expect(rules { $0.variants.removeLast() } == [.audioOnlyVariantMissing])
        // A second language, of which each property is changed.
        func second(_ change: (inout PCastHLS.Rendition) -> Void) -> Set<PlaylistRule> {
            rules { playlist in
                (playlist.renditions[0].isDefault, playlist.renditions[0].isAutoselect) = (true, true)
                var rendition = PCastHLS.Rendition(
                    .audio, uri: "b.m3u8", group: "aac", name: "Deutsch", language: "de", isAutoselect: true)
                change(&rendition)
                playlist.renditions.append(rendition)
            }
        }
        #expect(second { _ in } == [])
        #expect(second { $0.name = "audio" } == [.renditionNameRepeated])
        #expect(second { $0.isDefault = true } == [.defaultRenditionRepeated])
        #expect(second { $0.language = nil } == [.autoselectRenditionsAlike])
        #expect(second { ($0.language, $0.isAutoselect) = (nil, false) } == [])
        #expect(second { ($0.language, $0.characteristics) = (nil, ["public.accessibility.describes-video"]) } == [])
        #expect(second { ($0.group, $0.name, $0.language, $0.isDefault) = ("opus", "audio", nil, true) } == [])
        #expect(rules({ _ in }) { $0.targetDuration = .seconds(3 as Int64) }.contains(.targetsDiffer))
        #expect(rules({ _ in }) { $0.serverControl.partHoldBack = .seconds(4 as Int64) } == [.serverControlsDiffer])
        #expect(rules({ _ in }) { $0.renditionReports = [] } == [.renditionReportMissing])
        #expect(
            rules({ _ in }) { playlist in
                for index in playlist.segments.indices { playlist.segments[index].programDateTime = nil }
            }.contains(.programDateTimesDiffer))
        #expect(
            rules({ _ in }) { playlist in
                for index in 8..<12 { playlist.segments[index].discontinuity = 2 }
                playlist.openSegment?.discontinuity = 2
            } == [.discontinuitiesDiffer])
    }

    @Test("violations of responses are found")
    func responses() {
        func rules(_ type: String?, _ encoding: String?) -> Set<PlaylistRule> {
            Self.rules(PlaylistResponseRules.check(contentType: type, contentEncoding: encoding))
        }
        #expect(rules("application/vnd.apple.mpegurl", "gzip") == [])
        #expect(rules("audio/mpegurl; charset=utf-8", "GZIP") == [])
        #expect(rules("text/plain", "gzip") == [.contentTypeWrong])
        #expect(rules(nil, nil) == [.contentTypeWrong, .compressionMissing])
        #expect(rules("application/vnd.apple.mpegurl", "br") == [.compressionMissing])
        // The playlist ends with the first part of segment 16.
        let playlist = Self.valid()
        func tooEarly(_ segment: Int64, _ part: Int64?) -> Bool {
            Self.rules(PlaylistResponseRules.check(playlist, contains: segment, part: part))
                == [.reloadAnsweredTooEarly]
        }
        #expect(!tooEarly(15, nil) && !tooEarly(15, 9) && !tooEarly(16, 0))
        #expect(tooEarly(16, nil) && tooEarly(16, 1) && tooEarly(17, 0))
        var ended = playlist
        ended.isComplete = true
        #expect(PlaylistResponseRules.check(ended, contains: 99, part: nil) == [])
    }

    @Test("each rule names its source")
    func sources() {
        for rule in PlaylistRule.allCases {
            #expect(rule.source.contains("RFC 8216bis") || rule.source.contains("Apple's HLS authoring"), "\(rule)")
        }
    }
}
