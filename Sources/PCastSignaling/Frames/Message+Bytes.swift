import FoundationEssentials
import SwiftProtobuf

extension SwiftProtobufContiguousBytes {
    /// Encodes a message of this program in the wire format. All its required fields must be set.
    init(serializing message: some Message) {
        do {
            self = try message.serializedBytes()
        } catch {
            preconditionFailure("\(type(of: message).protoMessageName) lacks a required field")
        }
    }
}
