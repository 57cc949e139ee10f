import PCastJSON

/// Why something was not taken into a timeline, and what to do about it.
public enum TimelineError: Error, Hashable, Sendable {
    case tooLarge(limit: Int)
    case tooDeep(limit: Int)
    /// Of what, and how many there may be.
    case tooMany(String, limit: Int)
    /// It breaks off being JSON at this byte.
    case notJSON(at: Int)
    /// A field, and what it has to be.
    case wrongType(String, expected: String)
    /// A field whose value is none of the words that it may be.
    case unknownWord(String, String, allowed: [String])
    /// A field that is no date and time.
    case notATime(String)
    /// A league, a game or an event without a name, or with one that is too long.
    case badName(String, limit: Int)
    /// A message says of itself to be of another event than it was sent for.
    case otherEvent(String)
    /// There is no such event, or not any more.
    case noEvent(String)
    /// The time at which it was recorded lies in the future.
    case recordedInFuture
    /// The game's timeline is full.
    case full(limit: Int)
    /// A message that should follow another does not.
    case gap(expected: Int, got: Int)
    /// A message of the service that is none.
    case notAMessage(String)
}

extension TimelineError {
    init(_ error: JSONError) {
        self =
            switch error {
            case .tooLarge(let limit): .tooLarge(limit: limit)
            case .tooDeep(let limit): .tooDeep(limit: limit)
            case .tooManyValues(let limit): .tooMany("values", limit: limit)
            case .tooManyMembers(let limit): .tooMany("members", limit: limit)
            case .malformed(let offset): .notJSON(at: offset)
            }
    }
}

extension TimelineError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLarge(let limit): "the message is too large: send at most \(limit) bytes"
        case .tooDeep(let limit): "the message is nested too deep: at most \(limit) levels are read"
        case .tooMany(let what, let limit): "the message has too many \(what): send at most \(limit)"
        case .notJSON(let offset): "the message is not JSON: look at byte \(offset)"
        case .wrongType(let field, let expected): "\(field) has to be \(expected)"
        case .unknownWord(let field, let word, let allowed):
            "\(field) may not be “\(word.prefix(64))”: it is one of \(allowed.joined(separator: ", "))"
        case .notATime(let field): "\(field) is no time: write it as 2026-01-31T12:00:00.000Z"
        case .badName(let what, let limit): "\(what) needs a name of 1 to \(limit) bytes"
        case .otherEvent(let id):
            "the message says to be of the event “\(id.prefix(64))”: send it to that one's address"
        case .noEvent(let id): "there is no event “\(id.prefix(64))”: add it by POST"
        case .recordedInFuture: "the time of recording lies in the future: leave it out to take the present"
        case .full(let limit): "the game's timeline is full (\(limit)): begin another game"
        case .gap(let expected, let got): "revision \(got) came where \(expected) was due: ask again from there"
        case .notAMessage(let what): "the service's message cannot be understood (\(what)): is it of this version?"
        }
    }
}
