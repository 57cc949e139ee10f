import FoundationEssentials
import SwiftProtobuf

extension SwiftProtobufContiguousBytes {
    /// The wire format of a message of ours, whose required fields are all set.
    init(serializing message: some Message) {
        do {
            self = try message.serializedBytes()
        } catch {
            preconditionFailure("\(type(of: message).protoMessageName) lacks a required field")
        }
    }
}
