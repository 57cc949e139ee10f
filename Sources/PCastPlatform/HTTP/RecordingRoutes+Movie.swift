import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastDatabase
import PCastRecording
import PCastWeb

/// Recordings as one MP4 file.
extension RecordingRoutes {
    /// The query item that names the beginning of a range.
    private static let from = "from"
    /// The query item that names the end of a range.
    private static let to = "to"

    /// Returns the path of a recording as one MP4 file, which requires no token.
    static func signedMoviePath(_ recorded: RecordedStream, at time: WallTime) -> String {
        "\(folder)/\(recorded.recording.stream)/\(recorded.signature(at: time))/\(movie)"
    }

    /// Returns the path of the multivariant playlist of a recording, which requires no token.
    static func signedPath(_ recorded: RecordedStream, at time: WallTime) -> String {
        "\(folder)/\(recorded.recording.stream)/\(recorded.signature(at: time))/\(index)"
    }

    /// Returns the response with a recording as one MP4 file, or a range of it.
    ///
    /// - Throws: ``APIError``.
    func movie(of recorded: RecordedStream, _ request: Request) async throws(APIError) -> Response {
        let range = try Self.range(of: request, in: recorded)
        let movie = try await recordings.movies.movie(of: recorded, range)
        var headers: HTTPFields = [
            .contentType: movie.hasVideo ? "video/mp4" : "audio/mp4", .cacheControl: "no-cache",
            .xContentTypeOptions: "nosniff",
            .contentDisposition: "attachment; filename=\"\(Self.fileName(of: recorded.recording.stream)).mp4\"",
        ]
        let size = Int(movie.size)
        // The file of a running recording is another one at the next request.
        guard recorded.presentation.isComplete else {
            headers[.acceptRanges] = "none"
            return Response(status: .ok, headers: headers, body: body(of: movie, recorded, 0..<size))
        }
        headers[.acceptRanges] = "bytes"
        headers[.eTag] = movie.entityTag
        let isSame = request.headers[.ifRange].map { $0 == movie.entityTag } ?? true
        switch RequestedRange(isSame ? request.headers[.range] : nil, of: size) {
        case .all: return Response(status: .ok, headers: headers, body: body(of: movie, recorded, 0..<size))
        case .bytes(let bytes):
            headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(size)"
            return Response(status: .partialContent, headers: headers, body: body(of: movie, recorded, bytes))
        case .unsatisfiable:
            return Responses.text(
                .rangeNotSatisfiable, "The range is beyond the end of the file.",
                [.contentRange: "bytes */\(size)", .cacheControl: "no-store"])
        }
    }

    /// Returns the name of the file that a browser saves: the stream, with “-” for everything except letters, digits, “-”,
    /// “_” and “.”.
    private static func fileName(of stream: StreamID) -> String {
        String(
            stream.description.map { character in
                character.isASCII && (character.isLetter || character.isNumber || "-_.".contains(character))
                    ? character : "-"
            })
    }

    /// Creates a body that reads each part when the client has read enough of the previous ones.
    private func body(of movie: RecordedMovie, _ recorded: RecordedStream, _ range: Range<Int>) -> ResponseBody {
        ResponseBody(contentLength: range.count) { [logger] writer in
            let source = RecordedMovieReader(movie)
            let end = Int64(range.upperBound)
            var offset = Int64(range.lowerBound)
            while offset < end {
                let start = offset
                let result = await recorded.reader.run { () throws(RecordingError) -> [UInt8] in
                    try source.read(from: start, to: end)
                }
                if case .failure(let error) = result {
                    logger.error(
                        "a recording cannot be read: \(error)", metadata: ["stream": "\(recorded.recording.stream)"])
                }
                var rest = ByteBuffer(bytes: try result.get())
                offset += Int64(rest.readableBytes)
                while rest.readableBytes > 0,
                    let piece = rest.readSlice(length: min(rest.readableBytes, ResponseBody.pieceSize))
                {
                    try await writer.write(piece)
                }
            }
            try await writer.finish(nil)
        }
    }

    // MARK: Time ranges

    /// Returns the part of a recording that a request asks for.
    ///
    /// - Throws: ``APIError``.
    private static func range(of request: Request, in recorded: RecordedStream) throws(APIError) -> MovieRange {
        let items = request.uri.queryParameters
        let start = try position(items[from[...]].map { String($0) }, named: from, in: recorded) ?? .zero
        let end = try position(items[to[...]].map { String($0) }, named: to, in: recorded)
        guard end.map({ start < $0 }) ?? true else {
            throw APIError(.badRequest, "“to” must be later than “from”.")
        }
        return MovieRange(start: start, end: end)
    }

    /// Parses a position: seconds from the beginning of the recording, or a time by RFC 3339. Nil if there is none.
    ///
    /// - Throws: ``APIError``.
    private static func position(
        _ text: String?, named name: String, in recorded: RecordedStream
    ) throws(APIError) -> TimeSpan? {
        guard let text else { return nil }
        if let time = Timestamp.parse(text) { return recorded.presentation.position(of: time) }
        let isNumber = text.utf8.count <= 16 && text.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
        guard isNumber, let seconds = Double(text), seconds <= maximumPosition else {
            throw APIError(
                .badRequest,
                "“\(name)” must be a number of seconds from the beginning, or a time such as 2026-11-22T05:13:16Z.")
        }
        return TimeSpan(seconds: seconds)
    }

    /// The largest position in seconds: a century.
    private static let maximumPosition: Double = 100 * 366 * 86_400
}
