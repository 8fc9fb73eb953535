//! What the compiler says about a tool that is none: each mistake is named by its own type.

#[test]
fn each_mistake_of_a_tool_function_is_named_by_the_compiler() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
