import Foundation
import PCastCore
import PCastWeb

extension PlatformAdministration {
    /// A recording.
    struct Recording: Decodable, Equatable {
        let streamId: String
        /// The start time in milliseconds since 1970 (UTC).
        let startTime: Int64
        /// The end time in milliseconds since 1970 (UTC); nil while the stream is recorded.
        let endTime: Int64?
        /// The duration in milliseconds.
        let duration: Int64
        /// The size in bytes.
        let size: Int64
        /// The path of the multivariant playlist.
        let uri: String
        /// The path of the recording as an MP4 file, which requires no token; nil in lists.
        var downloadUri: String?

        /// The start time as text, clamped to the range of `WallTime`.
        var startTimeText: String {
            let limit: Int64 = 9_000_000_000_000
            return WallTime(millisecondsSinceEpoch: min(max(startTime, -limit), limit)).timestampText
        }
    }

    private struct RecordingList: Decodable {
        let recordings: [Recording]
        /// The value of `start` for the next page; nil for the last one.
        let start: String?
    }

    private struct OneRecording: Decodable {
        let recording: Recording
    }

    /// Returns the recording of a stream.
    ///
    /// - Throws: ``CommandFailure``, whose status is `nothingToPlay` if there is no such recording.
    func recording(of stream: String) async throws -> Recording {
        let name = stream.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? stream
        let answer = try await request("GET", "/pcast/recordings/\(name)", body: nil)
        if answer.status == 404 || answer.status == 410 { throw Self.noRecording(stream) }
        guard answer.status == 200,
            let found = try? JSONDecoder().decode(OneRecording.self, from: Data(answer.body))
        else { throw failure(answer) }
        return found.recording
    }

    private static func noRecording(_ stream: String) -> CommandFailure {
        CommandFailure(
            .nothingToPlay,
            "The platform has no recording of “\(stream)”: “pcast recordings list” prints its recordings.")
    }

    /// Returns the recordings, newest last.
    ///
    /// - Throws: ``CommandFailure``.
    func recordings() async throws -> [Recording] {
        var recordings: [Recording] = []
        var start: String? = "0"
        while let next = start {
            let answer = try await request("GET", "/pcast/recordings?start=\(next)", body: nil)
            guard answer.status == 200,
                let list = try? JSONDecoder().decode(RecordingList.self, from: Data(answer.body))
            else { throw failure(answer) }
            recordings += list.recordings
            start = list.start
        }
        return recordings
    }

    /// Deletes the recording of a stream.
    ///
    /// - Throws: ``CommandFailure``, whose status is `nothingToPlay` if there is no such recording.
    func deleteRecording(of stream: String) async throws {
        let body = try JSONEncoder().encode(["streamId": stream])
        let answer = try await request("DELETE", "/pcast/stream/archive", body: Array(body))
        switch answer.status {
        case 200: return
        case 404, 410: throw Self.noRecording(stream)
        case 409:
            throw CommandFailure(
                .failed, "The stream “\(stream)” is still recorded: end it first with “pcast streams end”.")
        default: throw failure(answer)
        }
    }
}
