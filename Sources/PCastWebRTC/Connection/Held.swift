/// A noncopyable value at a place that may be empty: Swift cannot yet look into an `Optional` of such a value without
/// taking it out.
final class Held<Value: ~Copyable> {
    var value: Value

    init(_ value: consuming Value) { self.value = value }
}
