import HTTPTypes
import Hummingbird
import PCastCore
import PCastDatabase
import PCastIO

/// The requests for an application's recordings.
extension ManagementAPI {
    private struct RecordingDescription: Encodable {
        let streamId: String
        /// The time in milliseconds since 1970 (UTC).
        let startTime: Int64
        let endTime: Int64?
        /// The duration in milliseconds.
        let duration: Int64
        /// The size in bytes.
        let size: Int64
        /// The reason of an end before that of the stream; nil if there is none.
        let reason: String?
        /// The path of the multivariant playlist.
        let uri: String
        /// The path of the multivariant playlist that requires no token; nil in lists.
        var playlistUri: String?
        /// The path of the recording as an MP4 file, which requires no token; nil in lists.
        var downloadUri: String?

        init(_ recording: RecordingRecord) {
            streamId = recording.stream.description
            startTime = recording.began.millisecondsSinceEpoch
            endTime = recording.ended?.millisecondsSinceEpoch
            duration = Int64(recording.duration.milliseconds)
            size = recording.size
            reason = recording.failure
            uri = RecordingService.path(of: recording.stream)
        }
    }

    private struct RecordingList: Encodable {
        let status = "ok"
        let recordings: [RecordingDescription]
        /// The value of `start` for the next page; nil at the end of the list.
        let start: String?
    }

    private struct OneRecording: Encodable {
        let status = "ok"
        let recording: RecordingDescription
    }

    private struct ArchiveRequest: Decodable {
        let streamId: String
        let reason: String?
    }

    private enum Order: String, CaseIterable {
        case oldest, newest
    }

    /// Returns the application's recordings, oldest or newest first.
    ///
    /// - Throws: ``ApplicationFailure``.
    func listRecordings(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let length = Int(try request.number("length", 1...1_000, default: 100))
        let start = try request.number("start", 0...Int64.max, default: 0)
        let newestFirst = try request.choice("order", Order.self) == .newest
        let page = try await query { () throws(RecordsError) in
            try await platformRecords.records.recordings(
                of: request.application, newestFirst: newestFirst, after: start, limit: length)
        }
        return ApplicationAnswer.json(
            RecordingList(
                recordings: page.elements.map { RecordingDescription($0) }, start: page.next?.description))
    }

    /// Returns one recording.
    ///
    /// - Throws: ``ApplicationFailure``.
    func inspectRecording(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let stream = StreamID(try request.part("stream"))
        let found = try await query { () throws(RecordsError) in
            try await platformRecords.records.recording(of: stream)
        }
        guard let found, found.application == request.application else { throw .notFound }
        guard found.deleted == nil else { throw Self.alreadyDeleted }
        var description = RecordingDescription(found)
        let recorded = try await query { () throws(RecordsError) in try await recordings.recording(of: stream) }
        if let recorded {
            let now = MonotonicClock.wallTime()
            description.playlistUri = RecordingRoutes.signedPath(recorded, at: now)
            description.downloadUri = RecordingRoutes.signedMoviePath(recorded, at: now)
        }
        return ApplicationAnswer.json(OneRecording(recording: description))
    }

    /// Deletes a recording that the path names.
    ///
    /// - Throws: ``ApplicationFailure``.
    func deleteRecording(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try await delete(StreamID(try request.part("stream")), request)
    }

    /// Deletes the recording that the content names, which is the request of Phenix.
    ///
    /// - Throws: ``ApplicationFailure``.
    func deleteArchive(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let archive = try request.decoded(ArchiveRequest.self)
        guard ClientTextLimits.isReason(archive.reason ?? "") else {
            throw .badRequest("“reason” is too long: send at most 120 characters.")
        }
        return try await delete(StreamID(archive.streamId), request)
    }

    private func delete(
        _ stream: StreamID, _ request: ApplicationRequest
    ) async throws(ApplicationFailure) -> Response {
        let result = try await query { () throws(RecordsError) in
            try await recordings.delete(stream, of: request.application)
        }
        switch result {
        case .deleted: return ApplicationAnswer.done
        case .unknown: throw .notFound
        case .alreadyDeleted: throw Self.alreadyDeleted
        case .notEnded:
            throw ApplicationFailure(.conflict, "not-ended", "The stream is still recorded: end it first.")
        }
    }

    private static let alreadyDeleted = ApplicationFailure(.gone, "already-deleted")
}
