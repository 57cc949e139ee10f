extension DeviceConstraint.Value {
    /// Parses the text after the equals sign. Throws `ConstraintSyntaxError` with the accepted values.
    init(_ text: String, of capability: DeviceCapability) throws(ConstraintSyntaxError) {
        switch capability {
        case .width, .height:
            guard let number = Int(text), number > 0 else {
                throw ConstraintSyntaxError("its value is a number of pixels")
            }
            self = .number(Double(number))
        case .frameRate:
            guard let number = Double(text), ConstraintNumber.isUsable(number) else {
                throw ConstraintSyntaxError("its value is a number of frames per second, such as 30 or 29.97")
            }
            self = .number(number)
        case .deviceID:
            guard !text.isEmpty else { throw ConstraintSyntaxError("its value is the ID of a device") }
            self = .text(text)
        case .autoFocusTarget: self = .focusTarget(try Self.target(text))
        case .facingMode: self = .facingMode(try Self.word(text))
        case .flashMode: self = .flashMode(try Self.word(text))
        case .location: self = .location(try Self.word(text))
        case .polarPattern: self = .polarPattern(try Self.word(text))
        case .audioEchoCancellationMode: self = .echoCancellation(try Self.word(text))
        case .videoSourceRotationMode: self = .rotationMode(try Self.word(text))
        case .autoFocusMode: self = .autoFocusMode(try Self.word(text))
        case .audioChannelLayout: self = .channelLayout(try Self.word(text))
        }
    }

    private static func word<Word: RawRepresentable<String> & CaseIterable>(_ text: String)
        throws(ConstraintSyntaxError)
        -> Word
    {
        guard let word = Word(rawValue: text) else {
            throw ConstraintSyntaxError("its value is one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }

    private static func target(_ text: String) throws(ConstraintSyntaxError) -> FocusTarget {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard parts.count == 2, let x = parts[0], let y = parts[1], let target = FocusTarget(x: x, y: y) else {
            throw ConstraintSyntaxError("its value is X,Y from 0,0 (top left) to 1,1 (bottom right)")
        }
        return target
    }
}

/// The reason why the text of a constraint is invalid.
struct ConstraintSyntaxError: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
