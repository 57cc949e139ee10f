import ArgumentParser
import Foundation
import PCastCore
import PCastJSON
import PCastTimeline

/// Files with timeline events.
enum TimelineFileArgument {
    static func bytes(of file: String) throws(CommandFailure) -> [UInt8] {
        do {
            return Array(
                file == "-"
                    ? try FileHandle.standardInput.readToEnd() ?? Data()
                    : try Data(contentsOf: URL(fileURLWithPath: file)))
        } catch {
            throw CommandFailure(.unusableArguments, "“\(file)” cannot be read: check its path and permissions.")
        }
    }

    /// Returns the requests for the events of a JSON array or of JSON lines, or for the lines of a timeline log.
    ///
    /// - Throws: ``CommandFailure`` with the number of an invalid event.
    static func requests(in file: String) throws(CommandFailure) -> [TimelineRequest] {
        let bytes = try bytes(of: file)
        let first = bytes.first { !$0.isSpace }
        var requests: [TimelineRequest] = []
        for (index, line) in try lines(bytes, isList: first == UInt8(ascii: "["), file).enumerated() {
            do throws(TimelineError) {
                if let request = try request(line) { requests.append(request) }
            } catch {
                throw CommandFailure(.unusableArguments, describing: error, after: "\(file), event \(index + 1): ")
            }
        }
        return requests
    }

    private static func lines(
        _ bytes: [UInt8], isList: Bool, _ file: String
    ) throws(CommandFailure) -> [[UInt8]] {
        guard isList else {
            return bytes.split(separator: UInt8(ascii: "\n")).filter { !$0.allSatisfy(\.isSpace) }.map { Array($0) }
        }
        guard let list = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [Any],
            let lines = try? list.map({ Array(try JSONSerialization.data(withJSONObject: $0)) })
        else {
            throw CommandFailure(
                .unusableArguments, "“\(file)” is not a JSON array: correct it, or write one event per line.")
        }
        return lines
    }

    /// Returns the request for a line; nil for the first line of a log, which only contains its identifier.
    private static func request(_ line: [UInt8]) throws(TimelineError) -> TimelineRequest? {
        if let revision = try? TimelineRevision(parsing: line) {
            switch revision.change {
            case .info(let info): return TimelineRequest(.info(info), recordedAt: revision.recordedAt)
            case .added(let id, let event), .modified(let id, let event):
                return TimelineRequest(.put(id, event), recordedAt: revision.recordedAt)
            case .deleted(let id): return TimelineRequest(.delete(id), recordedAt: revision.recordedAt)
            }
        }
        let event = try GameEvent(parsing: line)
        if event.id == nil, event.object["log"] != nil { return nil }
        let id = try TimelineEventID(event.id ?? event.timestamp ?? "")
        return TimelineRequest(.put(id, event), recordedAt: event.moment)
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

/// The arguments that identify a game.
struct TimelineGameArguments: ParsableArguments {
    @Argument(help: "League, such as NHL. Case-sensitive.")
    var league: String

    @Argument(help: "Game ID of the producer.")
    var game: String

    func named() throws(CommandFailure) -> TimelineGame {
        do throws(TimelineError) {
            return try TimelineGame(league: league, game: game)
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
    }
}
