import Foundation
import GRDB
import PCastCore
import Testing

@testable import PCastDatabase

@Suite("The index of recordings") struct RecordingTests {
    private static let stream = StreamID("one")

    private static func began(_ stream: StreamID = stream, epochs: Int = 1, at time: WallTime = Sample.time)
        -> RecordChange
    {
        .recording(
            .began(
                RecordingRecord(stream: stream, application: Sample.application, began: time, epochs: epochs)))
    }

    private static func segment(
        _ number: Int64, _ rendition: String = "video0", of stream: StreamID = stream, length: Int64 = 1_000
    ) -> SegmentRecord {
        SegmentRecord(
            stream: stream, epoch: 0, rendition: rendition, number: number, file: 0, offset: number * length,
            length: length, start: WallTime(nanosecondsSinceEpoch: 1_795_000_000_123_456_789) + .seconds(2 * number),
            duration: .nanoseconds(2_000_000_001), initialization: 0, discontinuity: number / 2, isGap: number == 3)
    }

    private static let rendition = RecordedRendition(
        stream: stream, epoch: 0, name: "video0", instance: "i1", codec: "avc1.64001f",
        dimensions: Dimensions(width: 1_280, height: 720), frameRate: 29.97)

    @Test("renditions and segments are stored exactly, and repeated writes change nothing") func contents()
        async throws
    {
        try await withDirectory { path in
            let segments = [0, 1, 2, 3].map { Self.segment($0) } + [Self.segment(0, "opus")]
            do {
                let records = try Records.open(path)
                for _ in 0..<2 {
                    try await records.record([
                        Self.began(), .recording(.rendition(Self.rendition)), .recording(.segments(segments)),
                    ])
                }
            }
            let records = try Records.open(path)
            let contents = try #require(try await records.contents(ofRecording: Self.stream))
            #expect(contents.renditions == [Self.rendition])
            #expect(Set(contents.segments) == Set(segments) && contents.segments.count == segments.count)
            #expect(contents.recording.size == 5_000 && contents.recording.ended == nil)
            #expect(contents.recording.duration == .nanoseconds(8_000_000_004))
            try await records.record([.recording(.lost([Self.segment(3)]))])
            #expect(try await records.contents(ofRecording: Self.stream)?.segments.count == 4)
            #expect(try await records.contents(ofRecording: StreamID("two")) == nil)
        }
    }

    @Test("a later epoch continues the recording, and a frame rate that is unknown replaces none") func epochs()
        async throws
    {
        let records = try Records.inMemory()
        try await records.record([
            Self.began(), .recording(.rendition(Self.rendition)),
            .recording(.ended(Self.stream, at: Sample.after(9), failure: "full", playlist: "/p")),
        ])
        #expect(try await records.recording(of: Self.stream)?.failure == "full")
        var unknown = Self.rendition
        unknown.frameRate = nil
        try await records.record([Self.began(epochs: 2), .recording(.rendition(unknown))])
        let recording = try #require(try await records.recording(of: Self.stream))
        #expect(recording.epochs == 2 && recording.ended == nil && recording.failure == nil)
        #expect(recording.began == Sample.time)
        #expect(try await records.contents(ofRecording: Self.stream)?.renditions == [Self.rendition])
    }

    @Test("the end of a recording with media is one notification with its playlist") func notification() async throws {
        let records = try Records.inMemory()
        try await Sample.callback("a", in: records)
        let end = RecordChange.recording(
            .ended(Self.stream, at: Sample.after(9), failure: nil, playlist: "/video/one/vod.m3u8"))
        try await records.record([.streamStarting(Sample.stream("one")), Self.began(), end])
        #expect(try await records.notifications(of: Sample.application, limit: 10).count == 1)
        try await records.record([Self.began(epochs: 2), .recording(.segments([Self.segment(0)])), end, end])
        let kinds = try await records.notifications(of: Sample.application, limit: 10).map(\.kind)
        #expect(kinds.count == 2 && kinds.contains(.onDemand))
        let bodies = try await records.database.read { db in
            try Data.fetchAll(db, sql: "SELECT body FROM notification WHERE what = 'on-demand'")
        }
        let text = String(decoding: try #require(bodies.first), as: UTF8.self)
        #expect(text.contains(#""uri":"/video/one/vod.m3u8""#) && text.contains(#""playlistType":"OnDemand""#))
    }

    @Test("a deleted recording has no contents, stays deleted, and is not listed") func deletion() async throws {
        let records = try Records.inMemory()
        try await records.record([
            Self.began(), .recording(.rendition(Self.rendition)), .recording(.segments([Self.segment(0)])),
        ])
        #expect(try await records.recordings(of: Sample.application, limit: 10).elements.count == 1)
        #expect(try await records.recordings(of: Sample.application, newestFirst: true, limit: 10).elements.count == 1)
        #expect(try await records.recordings(of: ApplicationID("other"), limit: 10).elements.isEmpty)
        try await records.record([.recording(.deleted(Self.stream, at: Sample.after(5)))])
        #expect(try await records.contents(ofRecording: Self.stream) == nil)
        #expect(try await records.recording(of: Self.stream)?.deleted == Sample.after(5))
        #expect(try await records.recordings(of: Sample.application, limit: 10).elements.isEmpty)
        try await records.record([.recording(.deleted(Self.stream, at: Sample.after(6)))])
        #expect(try await records.recording(of: Self.stream)?.deleted == Sample.after(5))
        #expect(try await records.recordedStreams() == [Self.stream: .deleted])
    }

    @Test("retention finds old recordings, and the oldest beyond the size of an application, but no running one")
    func retention() async throws {
        let records = try Records.inMemory()
        for number in 0..<5 {
            let stream = StreamID("s\(number)")
            try await records.record([
                Self.began(stream), .recording(.segments([Self.segment(0, of: stream)])),
                .recording(.ended(stream, at: Sample.after(Int64(number) * 100), failure: nil, playlist: "")),
            ])
        }
        let live = StreamID("live")
        try await records.record([Self.began(live), .recording(.segments([Self.segment(0, of: live)]))])
        let old = try await records.expiredRecordings(before: Sample.after(150), maximumSize: .max)
        #expect(old.map(\.description) == ["s0", "s1"])
        // The running recording has 1,000 bytes of the 3,500.
        let large = try await records.expiredRecordings(before: Sample.time, maximumSize: 3_500)
        #expect(large.map(\.description) == ["s0", "s1", "s2"])
        let none = try await records.expiredRecordings(before: Sample.time, maximumSize: 0)
        #expect(!none.map(\.description).contains("live") && none.count == 5)
    }

    @Test("the key of a recording is made once, sealed, and discarded with the secret of its application")
    func signingKey() async throws {
        try await withDirectory { path in
            let records = try Records.open(path)
            #expect(try await records.signingKey(ofRecording: Self.stream) { [1] } == nil)
            try await records.record([Self.began()])
            let first = [UInt8](repeating: 0x5A, count: 32)
            #expect(try await records.signingKey(ofRecording: Self.stream) { first } == first)
            #expect(try await records.signingKey(ofRecording: Self.stream) { [2] } == first)
            let stored = try await records.database.read { db in
                try Data.fetchOne(db, sql: "SELECT signingKey FROM recording")
            }
            #expect(try #require(stored).range(of: Data(first)) == nil)
            try await records.discardSigningKeys(of: [ApplicationID("other")])
            #expect(try await records.signingKey(ofRecording: Self.stream) { [2] } == first)
            try await records.discardSigningKeys(of: [Sample.application])
            #expect(try await records.signingKey(ofRecording: Self.stream) { [2] } == [2])
        }
    }
}
