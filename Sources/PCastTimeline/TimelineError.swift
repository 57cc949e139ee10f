import PCastJSON

/// The reason for which a timeline does not accept a message. Its text also says what to do.
public enum TimelineError: Error, Hashable, Sendable {
    /// The message exceeds the limit in bytes.
    case tooLarge(limit: Int)
    /// The message exceeds the limit of nested lists and objects.
    case tooDeep(limit: Int)
    /// The message has too many parts of a kind; the values are the kind and the limit.
    case tooMany(String, limit: Int)
    /// The message is not JSON from this byte on.
    case notJSON(at: Int)
    /// A field has the wrong type; the values are the field and the expected type.
    case wrongType(String, expected: String)
    /// A field has a word that the schema does not have; the values are the field, the word and the permitted words.
    case unknownWord(String, String, allowed: [String])
    /// A field is not a time.
    case notATime(String)
    /// The name of a league, a game or an event is empty or too long; the limit is in bytes.
    case badName(String, limit: Int)
    /// The message contains the ID of another event than its address.
    case otherEvent(String)
    /// The event does not exist, or was deleted.
    case noEvent(String)
    /// The time of recording is in the future.
    case recordedInFuture
    /// The timeline of the game has reached the limit.
    case full(limit: Int)
    /// A revision does not follow the previous one.
    case gap(expected: Int, got: Int)
    /// A message of the service is malformed; the value is the field.
    case notAMessage(String)
}

extension TimelineError {
    /// Creates the error for a JSON error.
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
    /// The error as a text for people, with what to do.
    public var description: String {
        switch self {
        case .tooLarge(let limit): "the message is too large: send at most \(limit) bytes"
        case .tooDeep(let limit): "the message is nested too deeply: use at most \(limit) levels"
        case .tooMany(let what, let limit): "the message has too many \(what): send at most \(limit)"
        case .notJSON(let offset): "the message is not valid JSON: check byte \(offset)"
        case .wrongType(let field, let expected): "\(field) has to be \(expected)"
        case .unknownWord(let field, let word, let allowed):
            "\(field) is “\(word.prefix(64))”: use one of \(allowed.joined(separator: ", "))"
        case .notATime(let field): "\(field) is not a time: write it as 2026-01-31T12:00:00.000Z"
        case .badName(let what, let limit): "\(what) needs a name of 1 to \(limit) bytes"
        case .otherEvent(let id):
            "the message has the id of the event “\(id.prefix(64))”: send it to that event's address"
        case .noEvent(let id): "there is no event “\(id.prefix(64))”: add it by POST"
        case .recordedInFuture: "the recording time is in the future: leave it out to use the current time"
        case .full(let limit): "the game's timeline has reached its limit (\(limit)): use another game"
        case .gap(let expected, let got):
            "revision \(got) arrived instead of \(expected): request the revisions from there"
        case .notAMessage(let what): "the service's message is malformed (\(what)): check that it has the same version"
        }
    }
}
