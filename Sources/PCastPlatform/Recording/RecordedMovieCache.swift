import PCastCore
import PCastDatabase
import PCastRecording
import Synchronization

/// A range of a recording.
struct MovieRange: Hashable, Sendable {
    /// The beginning, from the beginning of the recording.
    var start: TimeSpan
    /// The end; nil for that of the recording.
    var end: TimeSpan?
}

/// Creates the MP4 files of recordings, one after the other, and keeps those that were requested last. A player requests
/// many ranges of the same file.
final class RecordedMovieCache: Sendable {
    /// The recording and the range of a file. A recording that continues after its end is another one.
    private struct Key: Hashable {
        let stream: StreamID
        let epochs: Int
        let ended: WallTime?
        let range: MovieRange
    }

    private struct State {
        /// The files, those that were used last at the end.
        var kept: [(key: Key, movie: RecordedMovie)] = []
        var waitingCount = 0
    }

    private let state = Mutex(State())
    private let queue = FileReadingQueue(width: 1)

    /// The number of requests that wait until a file is created.
    private static let maximumWaiting = 16
    /// The bytes of the files that are kept.
    private static let maximumMemory = 64 << 20

    /// Returns a range of a recording as an MP4 file.
    ///
    /// - Throws: ``APIError``.
    func movie(of recorded: RecordedStream, _ range: MovieRange) async throws(APIError) -> RecordedMovie {
        let key = Key(
            stream: recorded.recording.stream, epochs: recorded.recording.epochs, ended: recorded.recording.ended,
            range: range)
        if let kept = kept(key) { return kept }
        let isAdmitted = state.withLock { state in
            guard state.waitingCount < Self.maximumWaiting else { return false }
            state.waitingCount += 1
            return true
        }
        guard isAdmitted else {
            throw APIError(
                .capacity, "Too many recordings are requested: retry later.", retryAfter: .seconds(2 as Int64))
        }
        let result = await queue.run { [self] () throws(RecordingError) -> RecordedMovie.Result in
            // An earlier request may have created it.
            if let kept = kept(key) { return .movie(kept) }
            let made = try recorded.makeMovie(range)
            if recorded.presentation.isComplete, case .movie(let movie) = made { keep(movie, for: key) }
            return made
        }
        state.withLock { $0.waitingCount -= 1 }
        switch result {
        case .success(.movie(let movie)): return movie
        case .success(.nothing): throw APIError(.noStreamPlaying, "The recording has no media in this range.")
        case .success(.tooLong):
            throw APIError(
                .badRequest, "The recording is too long for one file: request a part with “from” and “to”.")
        case .failure(let error):
            throw APIError(.failed, "The recording cannot be read: retry later.", detail: "\(error)")
        }
    }

    private func kept(_ key: Key) -> RecordedMovie? {
        state.withLock { state in
            guard let index = state.kept.firstIndex(where: { $0.key == key }) else { return nil }
            let entry = state.kept.remove(at: index)
            state.kept.append(entry)
            return entry.movie
        }
    }

    private func keep(_ movie: RecordedMovie, for key: Key) {
        state.withLock { state in
            state.kept.append((key, movie))
            while state.kept.reduce(0, { $0 + $1.movie.memorySize }) > Self.maximumMemory { state.kept.removeFirst() }
        }
    }

    /// Discards the files of a recording, because it was deleted or has changed.
    func discard(_ stream: StreamID) { state.withLock { $0.kept.removeAll { $0.key.stream == stream } } }
}
