import Foundation
import NIOCore
import PCastCodecs
import PCastCore
import PCastDatabase
import PCastHLS
import PCastIO
import PCastRecording
import Testing

@testable import PCastPlatform

@Suite("Recordings are downloaded as MP4 files") struct RecordingDownloadTests {
    private static let path = "/on-demand/\(PackagedRun.id)/recording.mp4"

    /// The bytes of a response, for the demuxer.
    private final class Download: MediaBytes, @unchecked Sendable {  // used by one thread
        private var rest: ByteBuffer

        init(_ bytes: ByteBuffer) { rest = bytes }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
            let count = min(buffer.count, rest.readableBytes)
            guard count > 0, let piece = rest.readSlice(length: count) else { return 0 }
            piece.withUnsafeReadableBytes { buffer.copyMemory(from: $0) }
            return count
        }
    }

    /// Returns the packets of a file. Nothing but the demuxer reads it, from its beginning to its end.
    private static func packets(_ file: ByteBuffer) throws -> [CodedPacket] {
        let demuxer = try SegmentDemuxer(Download(file), container: .fragmentedMP4)
        var packets: [CodedPacket] = []
        while let packet = try demuxer.read() { packets.append(packet) }
        #expect(demuxer.media == [.video, .audio])
        return packets
    }

    @Test("an ended recording is one file with its video and its audio, by a token or a signature")
    func download() async throws {
        try await RecordingSetup.run { setup in
            _ = try await setup.record(500)
            try await setup.serve { send in
                #expect(try await send(Self.path, [:]).status == 401)
                let token = ["Authorization": "Bearer \(try VideoServer.token())"]
                let response = try await send(Self.path, token)
                #expect(response.status == 200 && response.header("Content-Type") == "video/mp4")
                #expect(
                    response.header("Content-Disposition") == "attachment; filename=\"\(PackagedRun.id).mp4\"")
                #expect(response.header("Content-Length") == "\(response.body.readableBytes)")
                let packets = try Self.packets(response.body)
                let video = packets.filter { $0.medium == .video }
                #expect((245...250).contains(video.count), "\(video.count) frames")
                let times = video.compactMap(\.presentationTime)
                #expect(times.first == .zero && times == times.sorted())
                #expect(((times.last ?? .zero) - .milliseconds(9_960)).magnitude <= .milliseconds(200))
                let audio = packets.filter { $0.medium == .audio }
                let audioEnd = (audio.last?.presentationTime ?? .zero).seconds
                #expect((9.7...10.1).contains(audioEnd), "the audio ends at \(audioEnd)")
                let recorded = try #require(try await setup.service.recording(of: PackagedRun.id))
                let signed = RecordingRoutes.signedMoviePath(recorded, at: MonotonicClock.wallTime())
                #expect(try await send(signed, [:]).body == response.body)
                #expect(try await send(signed.replacingOccurrences(of: "recording", with: "other"), [:]).status == 404)
            }
        }
    }

    @Test("a range of bytes is that of the whole file, unless the file is another one than the client has")
    func ranges() async throws {
        try await RecordingSetup.run { setup in
            _ = try await setup.record(300)
            try await setup.serve { send in
                let token = ["Authorization": "Bearer \(try VideoServer.token())"]
                let whole = try await send(Self.path, token)
                let size = whole.body.readableBytes
                let tag = try #require(whole.header("ETag"))
                #expect(whole.header("Accept-Ranges") == "bytes")
                for range in [0..<1, 10..<500, size / 2..<size / 2 + 40_000, size - 5..<size] {
                    let bytes = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
                    let headers = token.merging(["Range": bytes, "If-Range": tag]) { $1 }
                    let part = try await send(Self.path, headers)
                    let end = min(range.upperBound, size)
                    #expect(part.status == 206)
                    #expect(part.header("Content-Range") == "bytes \(range.lowerBound)-\(end - 1)/\(size)")
                    #expect(part.body == whole.body.getSlice(at: range.lowerBound, length: end - range.lowerBound))
                }
                let other = token.merging(["Range": "bytes=0-9", "If-Range": "\"other\""]) { $1 }
                #expect(try await send(Self.path, other).body == whole.body)
                let beyond = try await send(Self.path, token.merging(["Range": "bytes=\(size)-"]) { $1 })
                #expect(beyond.status == 416 && beyond.header("Content-Range") == "bytes */\(size)")
            }
        }
    }

    @Test("a range of time is a shorter file; other values are refused with a sentence")
    func times() async throws {
        try await RecordingSetup.run { setup in
            _ = try await setup.record(500)
            try await setup.serve { send in
                let token = ["Authorization": "Bearer \(try VideoServer.token())"]
                let recording = try await setup.service.recording(of: PackagedRun.id)
                let presentation = try #require(recording).presentation
                let video = try #require(presentation.mediaPlaylist("vod-video0"))
                let start = try #require(video.segments.first?.programDateTime)
                let texts = [2, 5].map { Timestamp.text(start + .seconds($0 as Int64)) }
                for query in ["from=2&to=5", "from=\(texts[0])&to=\(texts[1])"] {
                    let response = try await send("\(Self.path)?\(query)", token)
                    #expect(response.status == 200, "\(query): \(response.text)")
                    let times = try Self.packets(response.body).filter { $0.medium == .video }.compactMap(
                        \.presentationTime)
                    let shown = times.count { $0 >= .zero && $0 < .seconds(3 as Int64) }
                    #expect((74...76).contains(shown), "\(query): \(shown) frames")
                    // A part may begin before the range and end after it.
                    #expect(times.count < 100, "\(query): \(times.count) frames")
                }
                for query in ["from=x", "to=-1", "from=5&to=2", "from=1e9", "from=nan", "to=9999999999999"] {
                    let response = try await send("\(Self.path)?\(query)", token)
                    #expect(response.status == 400 && response.text.hasSuffix("."), "\(query): \(response.text)")
                }
                #expect(try await send("\(Self.path)?from=100", token).status == 404)
            }
        }
    }

    @Test("a running recording is downloaded up to now, without ranges")
    func running() async throws {
        try await RecordingSetup.run { setup in
            let stream = RecordingSetup.stream()
            setup.writeQueue.note(.streamStarting(stream.record))
            #expect(await setup.service.begin(stream, instance: "i1"))
            var run = try PackagedRun(layers: 1, recorder: setup.service)
            _ = try run.send(400)
            await setup.flush()
            try await setup.serve { send in
                let headers = ["Authorization": "Bearer \(try VideoServer.token())", "Range": "bytes=0-9"]
                let response = try await send(Self.path, headers)
                #expect(response.status == 200 && response.header("Accept-Ranges") == "none")
                #expect(try Self.packets(response.body).count > 300)
            }
        }
    }

    @Test("a deleted recording has no file, although it was requested before")
    func deletion() async throws {
        try await RecordingSetup.run { setup in
            _ = try await setup.record(300)
            try await setup.serve { send in
                let token = ["Authorization": "Bearer \(try VideoServer.token())"]
                #expect(try await send(Self.path, token).status == 200)
                #expect(
                    try await setup.service.delete(PackagedRun.id, of: TestPlatform.application.id) == .deleted)
                #expect(try await send(Self.path, token).status == 404)
            }
        }
    }
}
