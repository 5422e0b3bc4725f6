package jdk.nashorn.api.scripting;

/** Java has no Nashorn from version 15 on. Maxwell asks of each value whether it is one of these, and none is: no filter in JavaScript is used. */
public class ScriptObjectMirror {
}
